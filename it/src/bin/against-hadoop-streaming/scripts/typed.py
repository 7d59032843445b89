#!/usr/bin/env python3
"""Mappers and a reducer that speak typed bytes: typed.py map|kinds|reduce."""
import struct
import sys

source, sink = sys.stdin.buffer, sys.stdout.buffer
FIXED = {1: '>b', 2: '>?', 3: '>i', 4: '>q', 5: '>f', 6: '>d'}


def number(form):
    return struct.unpack(form, source.read(struct.calcsize(form)))[0]


def read():
    """A value; None at the end of the input, or of a list."""
    code = source.read(1)
    if not code or code[0] == 255:
        return None
    code = code[0]
    if code in FIXED:
        return number(FIXED[code])
    if code == 8:
        return tuple(read() for _ in range(number('>i')))
    if code == 9:
        return list(iter(read, None))
    if code == 10:
        return {read(): read() for _ in range(number('>i'))}
    found = source.read(number('>i'))
    return found.decode('utf-8', 'surrogateescape') if code == 7 else found


def records():
    for key in iter(read, None):
        yield key, read()


def written(code, value):
    if code in FIXED:
        return bytes([code]) + struct.pack(FIXED[code], value)
    if code in (8, 10):
        count = len(value) // (code == 10 and 2 or 1)
        return bytes([code]) + struct.pack('>i', count) + b''.join(value)
    if code == 9:
        return bytes([code]) + b''.join(value) + b'\xff'
    return bytes([code]) + struct.pack('>i', len(value)) + value


def text(word):
    return written(7, word.encode('utf-8', 'surrogateescape'))


def emit(key, value):
    sink.write(key + value)


def count_words():
    for _, line in records():
        for word in line.split():
            emit(text(word), written(3, 1))


def kinds():
    """A key and a value of each type in turn, each key once."""
    for offset, line in records():
        n = offset * 31 + 7
        small = n % 251 - 125
        number_of = written(4, n * 1000003)
        values = [
            written(0, struct.pack('>i', n)), written(1, small), written(2, n % 2 == 0), written(3, -n),
            number_of, written(5, n * 0.125), written(6, n / 8), text('caf\u00e9 %d' % n),
            written(8, [written(3, n), text(line[:5])]), written(9, [written(1, small), written(9, [])]),
            written(10, [text('z'), number_of, text('a'), written(2, True), text('z'), written(3, 1)]),
            written(50, b'own'), written(200, struct.pack('>q', n)), written(8, []),
            written(10, [written(6, -0.5), text('x'), written(6, -1e300), text('y')]),
        ]
        which = offset % len(values)
        emit(written(8, [number_of, values[which]]), values[-1 - which])
        emit(number_of, values[which])


def add():
    last, total = None, 0
    for key, count in records():
        if key != last:
            if last is not None:
                emit(text(last), written(4, total))
            last, total = key, 0
        total += count
    if last is not None:
        emit(text(last), written(4, total))


{'map': count_words, 'kinds': kinds, 'reduce': add}[sys.argv[1]]()
sink.flush()
