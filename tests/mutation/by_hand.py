"""Mutants made by hand: what no operator makes, or would make among a thousand others.

Each is a piece of a file under gathercli/, which is there once, and what is put in its place.
"""

from __future__ import annotations

from typing import Final

BY_HAND: Final[tuple[tuple[str, str, str], ...]] = (
    # --fsync: the file before its name, the folder behind it
    ("io/write.py", "            os.fsync(self._fd)", "            pass"),
    ("io/write.py", "            self._sync_folder()", "            pass"),
    ("io/write.py", "            os.fsync(folder)", "            os.fsync(self._fd)"),
    ("io/zarr/created.py", "                _sync(self.temporary)", "                pass"),
    ("io/zarr/created.py", "                _sync_one(self.folder)", "                pass"),
    ("io/zarr/created.py", "            _sync_one(os.path.join(folder, name))", "            pass"),
    ("io/zarr/created.py", "        _sync_one(folder)\n", ""),
    ("io/zarr/created.py", "        os.fsync(fd)", "        pass"),
    ("cli/output.py", "Output(path, no_clobber=self.no_clobber, fsync=self.fsync)", "Output(path)"),
    (
        "cli/output.py",
        "creator(fmt)(path, no_clobber=self.no_clobber, fsync=self.fsync)",
        "creator(fmt)(path, no_clobber=self.no_clobber)",
    ),
    # A disk without room
    ("io/stream.py", "(errno.ENOSPC, errno.EDQUOT, errno.EFBIG)", "(errno.EDQUOT, errno.EFBIG)"),
    ("io/stream.py", "(errno.ENOSPC, errno.EDQUOT, errno.EFBIG)", "(errno.ENOSPC, errno.EFBIG)"),
    ("io/stream.py", "(errno.ENOSPC, errno.EDQUOT, errno.EFBIG)", "(errno.ENOSPC, errno.EDQUOT)"),
    # The lock of the report
    (
        "jobs/journal.py",
        "            if os.path.samestat(os.fstat(fd), os.stat(path)):\n                return fd",
        "            return fd",
    ),
    (
        "jobs/journal.py",
        "        os.close(fd)  # the file was replaced",
        "        pass  # the file was replaced",
    ),
    ("jobs/journal.py", "            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n", ""),
    # Processes that die
    (
        "jobs/pool.py",
        "self._settings, why, seconds)\n        queue.give_back(worker.tasks)",
        "self._settings, why, seconds)",
    ),
    (
        "jobs/pool.py",
        "            queue.give_back(worker.tasks)\n            return",
        "            return",
    ),
    ("jobs/pool.py", "and worker.late in (None, worker.tasks[0])", ""),
    ("jobs/pool.py", "worker.late in (None, worker.tasks[0])", "worker.late is None"),
    ("jobs/pool.py", "        self._workers.remove(worker)", "        pass"),
    ("jobs/pool.py", "            worker.process.terminate()", "            pass"),
    ("jobs/pool.py", "            worker.end()\n", "            pass\n"),
    ("jobs/pool.py", "        self.process.kill()", "        pass"),
    (
        "jobs/pool.py",
        "            self.began = time.monotonic()\n            del",
        "            del",
    ),
    ("jobs/pool.py", "                worker.process.kill()", "                pass"),
    ("jobs/queue.py", "self._again.extendleft(reversed(list(numbers)))", "pass"),
    ("jobs/queue.py", "reversed(list(numbers))", "numbers"),
    # Jobs that wait for an earlier one
    ("jobs/queue.py", "len(self._begun) >= MAX_WAITING or ", ""),
    ("jobs/queue.py", " or self._bytes >= MAX_WAITING_BYTES", ""),
    ("jobs/queue.py", "            self._bytes -= len(outcome.line)\n", ""),
    ("jobs/queue.py", "sorted(self._waiting)", "list(self._waiting)"),
    # What is not a line of a report
    ("jobs/journal.py", "_parse(text) if is_whole else None", "_parse(text)"),
    ("jobs/journal.py", "None if is_deep(text.decode()) else json.loads(text)", "json.loads(text)"),
    # Jobs by their ids, and in their file
    ("jobs/plan.py", 'job.id.encode(errors="surrogatepass")', 'job.id.encode(errors="replace")'),
    ("jobs/plan.py", "            if isinstance(error, GatherError):\n                raise\n", ""),
    ("jobs/plan.py", "        self._file.seek(0)\n", ""),
    ("jobs/plan.py", "        self._file.truncate()\n", ""),
    ("jobs/tally.py", "            if number < note.first:", "            if number > note.first:"),
    ("jobs/fingerprints.py", "            _digests.clear()", "            pass"),
    # Rows of zeros
    ("arrays/kernel.py", "_clear(targets[time],", "_clear(targets[0],"),
    ("arrays/kernel.py", "np.broadcast_to(none[time],", "np.broadcast_to(none[0],"),
    ("arrays/kernel.py", "if none[time].any():", "if none[0].any():"),
    # Data that is part of wider rows
    ("arrays/kernel.py", "if step % chunk or any(", "if any("),
    ("arrays/kernel.py", "any(loop.data % chunk for loop in loops[:-1])", "False"),
    ("arrays/kernel.py", "                and len(shared) <= 1 >= len(picked)\n", ""),
    # The lowest index that counts from the end, and indices of another byte order
    ("arrays/indices.py", ">= -policy.size:", "> -policy.size:"),
    ("arrays/indices.py", '"i8" and indices.dtype.isnative\n', '"i8"\n'),
    # The first of several
    ("adjustments.py", "start + at * step < self.first", "start + at * step > self.first"),
    (
        "adjustments.py",
        "if not self.number or start + at * step < self.first:",
        "if not self.number:",
    ),
    ("adjustments.py", "nearest = min(", "nearest = max("),
    (
        "adjustments.py",
        "for each in (self, other) if each.number)",
        "for each in (self, other))",
    ),
    # Indices that 32 bits do not hold
    ("lessons/verdicts.py", "WIDEST: Final = 2**31 - 1", "WIDEST: Final = 2**31"),
    ("lessons/verdicts.py", "WIDEST: Final = 2**31 - 1", "WIDEST: Final = 2**31 - 2"),
    ("lessons/verdicts.py", "(block > WIDEST)", "(block >= WIDEST)"),
    ("lessons/verdicts.py", "(block < ~WIDEST)", "(block <= ~WIDEST)"),
    ("lessons/verdicts.py", "(block < ~WIDEST)", "(block < -WIDEST)"),
    ("lessons/verdicts.py", "| (block < ~WIDEST)", ""),
    ("lessons/verdicts.py", "and size <= WIDEST\n", "\n"),
    ("lessons/warnings.py", "along.size > WIDEST + 1", "along.size > WIDEST"),
    ("lessons/warnings.py", "along.size > WIDEST + 1", "along.size > WIDEST + 2"),
    # What no position stands for
    ("arrays/check.py", "        resolved[indices < 0] = -1", "        pass"),
    ("arrays/check.py", "resolved[indices < 0] = -1", "resolved[indices <= 0] = -1"),
    ("arrays/check.py", "resolved[indices < 0] = -1", "resolved[indices < -1] = -1"),
    # Tuples: the last of them, those of another byte order, and those in another order of memory
    (
        "arrays/indices.py",
        "rows = np.concatenate([wide.reshape(FOLD, k), rows])",
        "rows = wide.reshape(FOLD, k)",
    ),
    ("arrays/indices.py", "1 and indices.dtype == np.int64", '1 and indices.dtype.str[1:] == "i8"'),
    (
        "arrays/indices.py",
        'native = np.ascontiguousarray(block, block.dtype.newbyteorder("="))',
        "native = block",
    ),
    ("arrays/indices.py", "            positions[rest < 0] = -1", "            pass"),
    ("arrays/counts.py", "        in_order=True,\n", ""),
    (
        "arrays/counts.py",
        "    cells=CELLS // k * k or k,",
        "    cells=CELLS,",
    ),
    (
        "arrays/counts.py",
        "wrapped.add(negative & ~outside, component",
        "wrapped.add(negative, component",
    ),
    (
        "arrays/counts.py",
        "outside.add(outside, component, start + j, k)",
        "outside.add(outside, component, start + j)",
    ),
    (
        "arrays/check.py",
        "negative is Negative.ERROR or call.op.index_range is IndexRange.UNSIGNED",
        "negative is Negative.ERROR",
    ),
    ("adjustments.py", "_, n = min(counted)", "_, n = counted[0]"),
    (
        "adjustments.py",
        "number = sum(count.number for count in counts)",
        "number = counts[n].number",
    ),
    ("arrays/memory.py", "if follow or not array.size or any(", "if follow or any("),
    ("arrays/memory.py", "any(s < 0 or s % itemsize for s", "any(s % itemsize for s"),
    ("arrays/memory.py", "any(s < 0 or s % itemsize for s", "any(s < 0 for s"),
    ("ops/gather_nd.py", 'IndexedAxis("indices", b + j, ', 'IndexedAxis("indices", j, '),
    # Beams: a zero that ends one, and parents that are no integers or all count from the end
    ("arrays/tree.py", "np.where(steps > self.ends", "np.where(steps >= self.ends"),
    ("arrays/tree.py", "np.isfinite(wide) & (np.floor(wide) == wide)", "np.floor(wide) == wide"),
    ("arrays/tree.py", "counts=True, tuples=False", "counts=False, tuples=False"),
    # Boxes of an output, and how they are computed
    (
        "arrays/chunkgroups.py",
        "        first = int(positions[positions >= 0].min())\n",
        "        first = 0\n",
    ),
    (
        "arrays/chunkgroups.py",
        "if first // layer == last // layer and",
        "if first // layer >= last // layer - 1 and",
    ),
    ("arrays/chunkgroups.py", "            numbers *= self._counts[j]\n", ""),
    ("arrays/chunkgroups.py", "along -= along // self._shape[j] * self._shape[j]", "pass"),
    (
        "arrays/chunkgroups.py",
        "int(each.min()), int(each.max()) + 1",
        "0, int(each.max()) + 1",
    ),
    ("arrays/blocks.py", "            positions[none] = -1\n", ""),
    (
        "arrays/blocks.py",
        "part += size * numbers.reshape(-1, *[1] * len(rest)) * (part >= 0)",
        "part += size * numbers.reshape(-1, *[1] * len(rest))",
    ),
    (
        "arrays/blocks.py",
        "np.arange(first + start, first + start + len(part))",
        "np.arange(start, start + len(part))",
    ),
    (
        "arrays/chunkpart.py",
        "for start in range(0, order.size, PIECE):",
        "for start in range(0, min(order.size, PIECE), PIECE):",
    ),
    (
        "arrays/chunkpart.py",
        "inside(positions[start : start + PIECE], box)",
        "inside(positions[:PIECE], box)",
    ),
    (
        "arrays/chunkpart.py",
        "            piece = slice(start, start + step)\n",
        "            piece = slice(0, step)\n",
    ),
    (
        "arrays/blocks.py",
        "threads * thread, COPIES * chunk_bytes(self.indices))",
        "threads * thread, 0)",
    ),
    ("arrays/blocks.py", "indices + parts + threads * thread", "indices + threads * thread"),
    (
        "arrays/blocks.py",
        "self.data.storage.itemsize + threads * COPIES",
        "self.data.storage.itemsize + COPIES",
    ),
    ("arrays/blocks.py", "chunk_bytes(data))", "CHUNK)"),
    ("arrays/partition.py", "    if 0 in source.shape:\n        return 1, []\n", ""),
    ("arrays/partition.py", "            threads //= 2", "            threads = 1"),
    ("arrays/partition.py", "(0, min(f * c, n))", "(0, f * c)"),
    ("arrays/partition.py", "writers * COPIES * product(chunks)", "COPIES * product(chunks)"),
    (
        "arrays/partition.py",
        "max(source.cost(box(factors), threads), output)",
        "source.cost(box(factors), threads)",
    ),
    (
        "arrays/partition.py",
        "return number >= least and cost(factors) <= most",
        "return cost(factors) <= most",
    ),
    ("arrays/partition.py", "cost(factors) <= most", "cost(factors) < most"),
    (
        "arrays/partition.py",
        "        if cells(box(factors)) * itemsize < WORTH:\n            factors[o]",
        "        if True:\n            factors[o]",
    ),
    ("arrays/partition.py", "for o in reversed(alone):", "for o in alone:"),
    ("arrays/partition.py", "for o in reversed(others):", "for o in others:"),
    ("arrays/partition.py", "dims = [*others, *alone]", "dims = [*alone, *others]"),
    ("arrays/partition.py", "    if cost > most:", "    if cost >= most:"),
    (
        "arrays/partition.py",
        "enough = min(cost / LEAST, PROGRAM + cost / SHARE)",
        "enough = PROGRAM + cost / SHARE",
    ),
    ("arrays/partition.py", "enough = min(cost / LEAST, PROGRAM + cost / SHARE)", "enough = cost"),
    (
        "arrays/streamed.py",
        "bisect_right(self._ends, start) - 1",
        "bisect_right(self._ends, start + 1) - 1",
    ),
    (
        "arrays/streamed.py",
        "                if current != number:\n                    slab",
        "                if True:\n                    slab",
    ),
    (
        "arrays/streamed.py",
        "if len(pieces) == 1 else np.concatenate([slab[:0], *pieces])",
        "if pieces else slab[:0]",
    ),
    ("arrays/streamed.py", "flat = flat * size + start + place", "flat = flat * size + place"),
    (
        "arrays/streamed.py",
        "IndexCounts(*(one | other for one, other in zip(total, each, strict=True)))",
        "each",
    ),
    (
        "arrays/streamed.py",
        "room = (BLOCK // tensor.storage.itemsize) // max(1, product(sizes))",
        "room = 1",
    ),
    (
        "arrays/streamed.py",
        "        sizes[d] *= max(1, min(room, -(-tensor.shape[d] // sizes[d])))",
        "        sizes[d] *= max(1, room)",
    ),
    # Chunks and their files
    (
        "io/zarr/chunkfiles.py",
        "if not 0 <= first < stop <= self.size:",
        "if not first < stop <= self.size:",
    ),
    (
        "io/zarr/chunkfiles.py",
        "if self.size > self._spec.max_file:",
        "if self.size >= self._spec.max_file:",
    ),
    ("io/zarr/chunkfiles.py", "            if not count:\n", "            if False:\n"),
    ("io/zarr/chunkfiles.py", "        self._check_size()\n        first", "        first"),
    (
        "io/zarr/chunkfiles.py",
        "            os.close(fd)\n            raise",
        "            raise",
    ),
    (
        "io/zarr/chunkfiles.py",
        "            with suppress(OSError):\n                os.unlink(partial)\n",
        "            pass\n",
    ),
    ("io/zarr/codecs.py", "if len(raw) > spec.max_packed:", "if False:"),
    (
        "io/zarr/codecs.py",
        "stored.transpose(np.argsort(self._axes))",
        "stored.transpose(self._axes)",
    ),
    ("io/zarr/codecs.py", "+ 256 * (width == 2)", ""),
    (
        "io/zarr/codecs.py",
        "at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]",
        "at = 5 + (not single)",
    ),
    (
        "io/zarr/shards.py",
        "    if len(spec.shard_index) > 1:\n        raw = strip_checksum(raw)\n",
        "    if len(spec.shard_index) > 1:\n        raw = raw[:-4]\n",
    ),
    ("io/zarr/stored.py", "if count > MAX_CHUNKS:", "if count >= MAX_CHUNKS:"),
    (
        "io/zarr/stored.py",
        "            done += elements.nbytes\n",
        "            done = elements.nbytes\n",
    ),
)
