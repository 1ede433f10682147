"""OpenVINO IR: the .xml and the .bin, read and written."""
