#!/usr/bin/env python3
"""Word count as a task process: README.md of this folder's parent, in Python."""
import json, os, socket, struct, sys, zlib

SETTINGS = json.loads(os.environ.get("WORDCOUNT_SETTINGS", "{}"))
PLAN = {"name": "wordcount.py", "jobs": [{
    "name": "wordcount", "mapper": "words", "combiner": None, "reducer": "sum", "partitioner": "crc32",
    "input": "lines", "output": "text", "between": ["text", "u64"], "settings": SETTINGS, "needs": []}],
    "drives": True}
VERSION = int(os.environ.get("WORDCOUNT_VERSION", "2"))
launcher = socket.socket(fileno=os.dup(0))
os.dup2(os.open("/dev/null", os.O_RDONLY), 0)

def say(message, *files):
    text = json.dumps(message).encode()
    frame = struct.pack("<I", len(text)) + text
    sent = socket.send_fds(launcher, [frame], files) if files else 0
    launcher.sendall(frame[sent:])

def hear():
    """The next message, and the descriptors that came with it."""
    head, files, _, _ = socket.recv_fds(launcher, 4, 4)
    while head and len(head) < 4:
        head += launcher.recv(4 - len(head))
    if not head:
        sys.exit("the launcher is gone")
    text, length = b"", struct.unpack("<I", head)[0]
    while len(text) < length:
        text += launcher.recv(length - len(text))
    return json.loads(text), files

def ask(message):
    """A file, and whether it is a pipe that begins where it was asked to."""
    say(message)
    answer, files = hear()
    if answer["type"] not in ("opened", "streamed"):
        raise RuntimeError(answer["sentence"])
    return files[0], answer["type"] == "streamed"

CRC = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC.append(byte)

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF

def leb128(number):
    out = b""
    while number >= 0x80:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])

def block(records):
    raw = b"".join(leb128(len(k)) + leb128(len(v)) + k + v for k, v in records)
    head = struct.pack("<IIIB3x", len(raw), len(raw), len(records), 0)
    return head + struct.pack("<I", crc32c(head + raw)) + raw

def records(data):
    at = 0
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value, shift = value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value
    while at < len(data):
        raw, stored, count, codec, crc = struct.unpack_from("<IIIB3xI", data, at)
        end = at + 20 + stored
        if codec != 0 or crc32c(data[at:at + 16] + data[at + 20:end]) != crc:
            raise RuntimeError("a block of map output is broken")
        at += 20
        while at < end:
            key, value = number(), number()
            yield data[at:at + key], data[at + key:at + key + value]
            at += key + value

def drive(words):
    """Counts once into each of two folders, the second with another number of reduces."""
    *inputs, output = words
    ask_client = lambda message: (say(message), hear()[0])[1]
    for number, reduces in enumerate(["1", "2"]):
        answer = ask_client({"type": "submit", "submission": number, "job": "wordcount", "inputs": inputs, "params": None,
                             "output": output + reduces, "settings": {**SETTINGS, "mapreduce.job.reduces": reduces}})
        if answer["type"] == "accepted":
            answer = ask_client({"type": "wait", "submission": number})
        failure = answer.get("sentence") or answer.get("failure")
        if failure:
            return say({"type": "failed", "sentence": failure})
        print("reduces", reduces, "words", answer["counters"]["words"]["written"], flush=True)
    ask_client({"type": "done"})

def lines(number, piece):
    """A line belongs to the piece in which it begins, or that ends there."""
    at, end = piece["offset"], piece["offset"] + piece["length"]
    file, is_streamed = ask({"type": "open_input", "piece": number, "from": at})
    with open(file, "rb") as file:
        if not is_streamed:
            file.seek(at)
        if at > 0:
            at += len(file.readline())
        while at <= end and at < piece["size"]:
            line = file.readline()
            if not line:
                raise RuntimeError("%s ended at byte %d of %d" % (piece["name"], at, piece["size"]))
            at += len(line)
            yield line

def map_task(order):
    counts = {}
    for number, piece in enumerate(order["pieces"]):
        for line in lines(number, piece):
            for word in line.split():
                counts[word] = counts.get(word, 0) + 1
    output, partitions, at = os.memfd_create("map"), [], 0
    for partition in range(order["partitions"]):
        mine = sorted((word, struct.pack(">Q", count)) for word, count in counts.items()
                      if zlib.crc32(word) % order["partitions"] == partition)
        # A block has at most 256 KiB: some thousand words.
        written = b"".join(block(mine[n:n + 4000]) for n in range(0, len(mine), 4000))
        os.write(output, written)
        partitions.append({"offset": at, "length": len(written), "records": len(mine),
                           "bytes_digest": zlib.crc32(written), "records_digest": sum(zlib.crc32(k + v) for k, v in mine)})
        at += len(written)
    say({"type": "map_done", "counters": {"words": {"different": len(counts)}}, "partitions": partitions}, output)
    os.close(output)

def reduce_task(order):
    counts = {}
    for number, source in enumerate(order["sources"]):
        file, _ = ask({"type": "open_source", "source": number})
        for word, count in records(os.pread(file, source["length"], source["offset"])):
            counts[word] = counts.get(word, 0) + struct.unpack(">Q", count)[0]
        os.close(file)
    with open(ask({"type": "open_output", "name": "part-r-%05d" % order["task"]})[0], "wb") as out:
        out.writelines(b"%s\t%d\n" % pair for pair in sorted(counts.items()))
    say({"type": "reduce_done", "counters": {"words": {"written": len(counts)}}})

say({"type": "hello", "version": VERSION, "plan": "wordcount.py 1"})
if os.environ["GERBIL_ROLE"] == "plan":
    say({"type": "plan", "plan": PLAN})
    sys.exit()
if os.environ["GERBIL_ROLE"] == "drive":
    answer, _ = hear()
    sys.exit(answer["sentence"] if answer["type"] == "refused" else drive(sys.argv[1:]))
while True:
    order, _ = hear()
    try:
        if order["type"] == "map":
            map_task(order)
        elif order["type"] == "reduce":
            reduce_task(order)
        elif order["type"] == "refused":
            sys.exit(order["sentence"])
        elif order["type"] == "leave":
            sys.exit()
    except Exception as error:
        say({"type": "failed", "sentence": str(error)})
