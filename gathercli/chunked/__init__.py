"""From chunk to chunk: any box of the output, from the chunks of `data` that its indices are in.

::

    box of the output  ->  box of `indices`  ->  positions, sorted by the chunk that they are in
    each of those chunks, read once          ->  its elements, where they belong in the box

What is held is a box of the output, its indices, and one chunk of `data`; a chunk is read once for
every box that needs it, so `cutting` makes boxes as large as memory allows, and of the shape of
which few need the same chunk. Nothing here opens a file or prints.
"""
