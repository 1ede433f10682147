"""The format zarr: folders of chunks, read, and created."""
