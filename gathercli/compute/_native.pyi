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
def fill_tree(
    code: str,
    steps: int,
    batches: int,
    beams: int,
    out: AnyArray,
    step_ids: AnyArray,
    parent_ids: AnyArray,
    max_seq_len: AnyArray,
    end_token: AnyArray,
    /,
) -> bool: ...
def json_lists(values: AnyArray, words: tuple[bytes, ...], /) -> bytearray | None: ...
