# Waits for the end of the process at the other end of stdin, then ends what its cluster left.
# $1: the cluster's folder.  An orderly end has removed it, and nothing is to be done.
folder=$1
cat >/dev/null
[ -d "$folder" ] || exit 0
clean=0
tries=0
while [ $clean -lt 2 ] && [ $tries -lt 200 ]; do
    tries=$((tries + 1))
    # Expanded here, so that what this shell starts below is not in the list.
    set -- /proc/[0-9]*
    found=
    for process in $(grep -lsF -e "GERBIL_IT_CLUSTER=$folder" -e "$folder/nodes/" \
        "${@/%//environ}" "${@/%//cmdline}"; find "$@" -maxdepth 1 -name cwd -lname "$folder/nodes/*" 2>/dev/null); do
        pid=${process#/proc/}
        pid=${pid%%/*}
        [ "$pid" = $$ ] && continue
        kill -9 "$pid" 2>/dev/null && found=yes
    done
    if [ -n "$found" ]; then clean=0; else clean=$((clean + 1)); fi
    sleep 0.05
done
# What a killed test has cut off or mounted for this cluster.
while read -r rule; do
    iptables -w -D $rule
done < <(iptables -w -S 2>/dev/null | grep -F -e "--comment ${folder##*/} " | sed 's/^-A //') 2>/dev/null
while read -r mount; do
    umount -l "$mount"
done < <(awk -v below="$folder/" 'index($2, below) == 1 { print $2 }' /proc/mounts) 2>/dev/null
rm -rf "$folder"
