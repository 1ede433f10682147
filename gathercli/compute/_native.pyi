from gathercli.compute.storage import AnyArray

def fill(
    out: AnyArray,
    data: AnyArray,
    indices: AnyArray,
    plan: AnyArray,
    start: int,
    part: int,
    threads: int,
    /,
) -> bool: ...
def json_lists(values: AnyArray, words: tuple[bytes, ...], /) -> bytearray | None: ...
