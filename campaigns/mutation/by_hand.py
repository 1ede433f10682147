"""Mutants made by hand: what no operator makes, or would make among a thousand others.

Each is a piece of a file under gathercli/, which is there once, and what is put in its place.
"""

from __future__ import annotations

from typing import Final

BY_HAND: Final[tuple[tuple[str, str, str], ...]] = (
    # --fsync: the file before its name, the folder behind it
    ("io/write.py", "            os.fsync(self._fd)", "            pass"),
    ("io/write.py", '            sync(".", self._folder)', "            pass"),
    ("io/zarr/created.py", "            _sync(self.temporary)", "            pass"),
    ("io/zarr/created.py", "            write.sync(self.folder)", "            pass"),
    (
        "io/zarr/created.py",
        "            write.sync(os.path.join(folder, name))",
        "            pass",
    ),
    ("io/zarr/created.py", "        write.sync(folder)\n", ""),
    ("io/write.py", "        os.fsync(fd)", "        pass"),
    (
        "cli/output.py",
        "Output(path, inputs, no_clobber=self.no_clobber, fsync=self.fsync)",
        "Output(path, inputs)",
    ),
    (
        "cli/output.py",
        "save.creator(fmt)(path, inputs, no_clobber=self.no_clobber, fsync=self.fsync)",
        "save.creator(fmt)(path, inputs, no_clobber=self.no_clobber)",
    ),
    # A disk without room
    ("io/stream.py", "(errno.ENOSPC, errno.EDQUOT, errno.EFBIG)", "(errno.EDQUOT, errno.EFBIG)"),
    ("io/stream.py", "(errno.ENOSPC, errno.EDQUOT, errno.EFBIG)", "(errno.ENOSPC, errno.EFBIG)"),
    ("io/stream.py", "(errno.ENOSPC, errno.EDQUOT, errno.EFBIG)", "(errno.ENOSPC, errno.EDQUOT)"),
    # The lock of the report
    (
        "batch/journal.py",
        "            if os.path.samestat(os.fstat(fd), os.stat(path)):\n                return fd",
        "            return fd",
    ),
    (
        "batch/journal.py",
        "        os.close(fd)  # the file was removed",
        "        pass  # the file was removed",
    ),
    ("batch/journal.py", "            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n", ""),
    # Processes that die
    (
        "batch/pool.py",
        "self._settings, why, seconds)\n        queue.give_back(worker.tasks)",
        "self._settings, why, seconds)",
    ),
    (
        "batch/pool.py",
        "            queue.give_back(worker.tasks)\n            return",
        "            return",
    ),
    ("batch/pool.py", "now - self.since >", "now - self.began >"),
    ("batch/pool.py", "and worker.late in (None, worker.tasks[0])", ""),
    ("batch/pool.py", "worker.late in (None, worker.tasks[0])", "worker.late is None"),
    ("batch/pool.py", "        self._workers.remove(worker)", "        pass"),
    ("batch/pool.py", "            worker.process.terminate()", "            pass"),
    (
        "batch/pool.py",
        "self._workers:\n            worker.end()\n        for",
        "():\n            pass\n        for",
    ),
    ("batch/pool.py", "        self.process.kill()", "        pass"),
    (
        "batch/pool.py",
        "            self.began = time.monotonic()\n            del",
        "            del",
    ),
    ("batch/pool.py", "                worker.process.kill()", "                pass"),
    ("batch/pool.py", "self._again.extendleft(reversed(list(numbers)))", "pass"),
    ("batch/pool.py", "reversed(list(numbers))", "numbers"),
    # Jobs that wait for an earlier one
    ("batch/pool.py", "(self._ordered and begun >= MAX_WAITING_JOBS) or ", ""),
    ("batch/pool.py", " or self._bytes >= MAX_WAITING_BYTES", ""),
    ("batch/pool.py", "            self._bytes -= len(outcome.line)\n", ""),
    ("batch/pool.py", "sorted(self._waiting)", "list(self._waiting)"),
    # What is not a line of a report
    ("batch/journal.py", "_parse(text) if is_whole else None", "_parse(text)"),
    (
        "batch/journal.py",
        "None if is_deep(text.decode()) else json.loads(text)",
        "json.loads(text)",
    ),
    # Jobs by their ids, and in their file
    ("batch/plan.py", 'job.id.encode(errors="surrogatepass")', 'job.id.encode(errors="replace")'),
    ("batch/plan.py", "        self._file.seek(0)\n", ""),
    ("batch/plan.py", "        self._file.truncate()\n", ""),
    (
        "batch/outcome.py",
        "        insort(self.first, (number, name, text))",
        "        self.first.append((number, name, text))",
    ),
    ("batch/journal.py", "            _digests.clear()", "            pass"),
    # Data that is part of wider rows
    ("compute/kernel.py", "if step % chunk or any(", "if any("),
    ("compute/kernel.py", "any(loop.data % chunk for loop in loops[:-1])", "False"),
    ("compute/kernel.py", "            and len(shared) <= 1 >= len(picked)\n", ""),
    # The lowest index that counts from the end, and indices of another byte order
    ("compute/indices.py", ">= -policy.size:", "> -policy.size:"),
    ("compute/indices.py", '"i8" and indices.dtype.isnative\n', '"i8"\n'),
    # The first of several
    ("spec/adjustments.py", "start + at * step < self.first", "start + at * step > self.first"),
    (
        "spec/adjustments.py",
        "if not self.number or start + at * step < self.first:",
        "if not self.number:",
    ),
    ("spec/adjustments.py", "nearest = min(", "nearest = max("),
    (
        "spec/adjustments.py",
        "for each in (self, other) if each.number)",
        "for each in (self, other))",
    ),
    # Indices that 32 bits do not hold
    (
        "compute/verdicts.py",
        "MOST_INT32_INDEX: Final = 2**31 - 1",
        "MOST_INT32_INDEX: Final = 2**31",
    ),
    (
        "compute/verdicts.py",
        "MOST_INT32_INDEX: Final = 2**31 - 1",
        "MOST_INT32_INDEX: Final = 2**31 - 2",
    ),
    ("compute/verdicts.py", "(block > MOST_INT32_INDEX)", "(block >= MOST_INT32_INDEX)"),
    ("compute/verdicts.py", "(block < ~MOST_INT32_INDEX)", "(block <= ~MOST_INT32_INDEX)"),
    ("compute/verdicts.py", "(block < ~MOST_INT32_INDEX)", "(block < -MOST_INT32_INDEX)"),
    ("compute/verdicts.py", "| (block < ~MOST_INT32_INDEX)", ""),
    ("compute/verdicts.py", "and size <= MOST_INT32_INDEX\n", "\n"),
    ("diagnose/warnings.py", "along.size > MOST_INT32_INDEX + 1", "along.size > MOST_INT32_INDEX"),
    (
        "diagnose/warnings.py",
        "along.size > MOST_INT32_INDEX + 1",
        "along.size > MOST_INT32_INDEX + 2",
    ),
    # What no position stands for
    ("compute/check.py", "        resolved[indices < 0] = -1", "        pass"),
    ("compute/check.py", "resolved[indices < 0] = -1", "resolved[indices <= 0] = -1"),
    ("compute/check.py", "resolved[indices < 0] = -1", "resolved[indices < -1] = -1"),
    # Indices of another byte order
    ("compute/indices.py", '"i8" and indices.dtype.isnative', '"i8"'),
    ("compute/indices.py", "            positions[none] = -1", "            pass"),
    ("compute/check.py", "        in_order=tuples,\n", ""),
    (
        "compute/check.py",
        "        cells=BLOCK_INDICES // k * k or k,",
        "        cells=BLOCK_INDICES,",
    ),
    (
        "compute/check.py",
        "wrapped.add(negative & ~outside, component",
        "wrapped.add(negative, component",
    ),
    (
        "compute/check.py",
        "outside.add(outside, component, start + j, k)",
        "outside.add(outside, component, start + j)",
    ),
    (
        "compute/check.py",
        "negative is Negative.ERROR or call.op.index_range is IndexRange.UNSIGNED",
        "negative is Negative.ERROR",
    ),
    ("spec/adjustments.py", "min(hits, key=lambda hit: hit[1].first)", "hits[0]"),
    (
        "spec/adjustments.py",
        "call.legal(along.size), sum(count.number for _, count in hits)\n",
        "call.legal(along.size), first.number\n",
    ),
    ("compute/storage.py", "if follow or not array.size or any(", "if follow or any("),
    ("compute/storage.py", "any(s < 0 or s % itemsize for s", "any(s % itemsize for s"),
    ("compute/storage.py", "any(s < 0 or s % itemsize for s", "any(s < 0 for s"),
    ("ops/gather_nd.py", 'IndexedAxis("indices", b + j, ', 'IndexedAxis("indices", j, '),
    # Beams: a zero that ends one, and parents that are no integers or all count from the end
    ("compute/check.py", "np.where(steps > self.ends", "np.where(steps >= self.ends"),
    ("compute/check.py", "np.isfinite(wide) & (np.floor(wide) == wide)", "np.floor(wide) == wide"),
    ("compute/check.py", "counts=True, tuples=False", "counts=False, tuples=False"),
    # Boxes of an output, and how they are computed
    (
        "compute/blocks.py",
        "        first = int(positions[positions >= 0].min())\n",
        "        first = 0\n",
    ),
    (
        "compute/blocks.py",
        "if first // layer == last // layer and",
        "if first // layer >= last // layer - 1 and",
    ),
    ("compute/blocks.py", "            numbers *= self._counts[j]\n", ""),
    ("compute/blocks.py", "along -= along // self._shape[j] * self._shape[j]", "pass"),
    ("compute/blocks.py", "int(each.min()), int(each.max()) + 1", "0, int(each.max()) + 1"),
    ("compute/blocks.py", "            positions[none] = -1\n", ""),
    (
        "compute/blocks.py",
        "part += size * numbers.reshape(-1, *[1] * len(rest)) * (part >= 0)",
        "part += size * numbers.reshape(-1, *[1] * len(rest))",
    ),
    (
        "compute/blocks.py",
        "np.arange(first + start, first + start + len(part))",
        "np.arange(start, start + len(part))",
    ),
    (
        "compute/blocks.py",
        "for start in range(0, order.size, SCATTERED_CELLS):",
        "for start in range(0, min(order.size, SCATTERED_CELLS), SCATTERED_CELLS):",
    ),
    (
        "compute/blocks.py",
        "inside(positions[start : start + SCATTERED_CELLS], box)",
        "inside(positions[:SCATTERED_CELLS], box)",
    ),
    (
        "compute/blocks.py",
        "            piece = slice(start, start + step)\n",
        "            piece = slice(0, step)\n",
    ),
    ("compute/blocks.py", "threads * thread, read)", "threads * thread, 0)"),
    ("compute/blocks.py", "indices + parts + threads * thread", "indices + threads * thread"),
    (
        "compute/chunks.py",
        "read = threads * CHUNK_COPIES * chunk_bytes(self.elements)",
        "read = CHUNK_COPIES * chunk_bytes(self.elements)",
    ),
    ("compute/blocks.py", "chunking.chunk_bytes(data)", "chunking.CHUNK_BYTES"),
    ("compute/chunks.py", "    if 0 in source.shape:\n        return 1, []\n", ""),
    ("compute/chunks.py", "        threads //= 2", "        threads = 1"),
    ("compute/chunks.py", "(0, min(f * c, n))", "(0, f * c)"),
    (
        "compute/chunks.py",
        "writers * CHUNK_COPIES * product(chunks)",
        "CHUNK_COPIES * product(chunks)",
    ),
    (
        "compute/chunks.py",
        "max(source.cost(box(factors), threads), output)",
        "source.cost(box(factors), threads)",
    ),
    ("compute/chunks.py", "return number >= least and is_fitting", "return is_fitting"),
    ("compute/chunks.py", "share) <= most", "share) < most"),
    ("compute/chunks.py", "(most - needed) * 3 // 4", "most - needed"),
    ("compute/chunks.py", "(most - needed) * 3 // 4", "most * 3 // 4"),
    ("compute/chunks.py", "if source.reads_alone and", "if"),
    (
        "compute/chunks.py",
        "        if cells(box(factors)) * itemsize < LEAST_TASK_BYTES:\n            factors[o]",
        "        if True:\n            factors[o]",
    ),
    ("compute/chunks.py", "for o in reversed(alone):", "for o in alone:"),
    ("compute/chunks.py", "for o in reversed(others):", "for o in others:"),
    ("compute/chunks.py", "dims = [*others, *alone]", "dims = [*alone, *others]"),
    ("compute/chunks.py", "    if needed > most:", "    if needed >= most:"),
    (
        "compute/chunks.py",
        "enough = min(needed / LEAST_BOX_SHARE, PROGRAM_BYTES + needed / BOX_SHARE)",
        "enough = PROGRAM_BYTES + needed / BOX_SHARE",
    ),
    (
        "compute/chunks.py",
        "enough = min(needed / LEAST_BOX_SHARE, PROGRAM_BYTES + needed / BOX_SHARE)",
        "enough = needed",
    ),
    (
        "compute/result.py",
        "bisect_right(self._ends, start) - 1",
        "bisect_right(self._ends, start + 1) - 1",
    ),
    (
        "compute/result.py",
        "                if current != number:\n                    slab",
        "                if True:\n                    slab",
    ),
    (
        "compute/result.py",
        "if len(pieces) == 1 else np.concatenate([slab[:0], *pieces])",
        "if pieces else slab[:0]",
    ),
    ("compute/check.py", "[start + place for", "[place for"),
    (
        "compute/check.py",
        "IndexCounts(*(one | other for one, other in zip(total, each, strict=True)))",
        "each",
    ),
    (
        "compute/check.py",
        "room = (CHECKED_BYTES // tensor.storage.itemsize) // max(1, product(sizes))",
        "room = 1",
    ),
    (
        "compute/check.py",
        "        sizes[d] *= max(1, min(room, -(-tensor.shape[d] // sizes[d])))",
        "        sizes[d] *= max(1, room)",
    ),
    # Chunks and their files
    ("io/zarr/stored.py", "if not 0 <= start < stop <= size:", "if not start < stop <= size:"),
    ("io/zarr/stored.py", "if size > spec.max_file:", "if size >= spec.max_file:"),
    ("io/zarr/stored.py", "        if not count:\n", "        if False:\n"),
    (
        "io/zarr/stored.py",
        "            finally:\n                os.close(fd)\n",
        "            finally:\n                pass\n",
    ),
    (
        "io/zarr/stored.py",
        "            with suppress(OSError):\n                os.unlink(partial)\n",
        "            pass\n",
    ),
    ("io/zarr/arrayspec.py", "if len(raw) > spec.max_packed:", "if False:"),
    (
        "io/zarr/arrayspec.py",
        "stored.transpose(np.argsort(self._axes))",
        "stored.transpose(self._axes)",
    ),
    ("io/zarr/arrayspec.py", "+ 256 * (width == 2)", ""),
    (
        "io/zarr/arrayspec.py",
        "at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]",
        "at = 5 + (not single)",
    ),
    (
        "io/zarr/stored.py",
        "            raw = strip_checksum(raw)\n",
        "            raw = raw[:-4]\n",
    ),
    ("io/formats/content.py", "if number > most:", "if number >= most:"),
    (
        "io/zarr/stored.py",
        "            done += elements.nbytes\n",
        "            done = elements.nbytes\n",
    ),
)
