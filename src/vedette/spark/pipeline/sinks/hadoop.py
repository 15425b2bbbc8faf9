"""Files on any file system that Spark can write to, through Hadoop: a disk, HDFS, an object store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_AT_ONCE = ("file", "hdfs", "viewfs")


class FileSystem:
    """The file system of a path. Paths are texts, absolute or with a scheme."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        jvm: Any = spark._jvm
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        self._jvm = jvm
        # The session's configuration, so that keys given as `spark.hadoop.…` or set later hold here too.
        self._configuration: Any = spark._jsparkSession.sessionState().newHadoopConf()
        self._files: Any = self._path(place).getFileSystem(self._configuration)

    @property
    def moves_at_once(self) -> bool:
        """Whether folders are renamed in one step; object stores copy file after file instead."""
        return str(self._files.getUri().getScheme()).lower() in _AT_ONCE

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return bool(self._files.exists(self._path(path)))

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none if it does not exist."""
        if not self.exists(folder):
            return []
        return sorted(str(status.getPath().getName()) for status in self._files.listStatus(self._path(folder)))

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        return self.exists(path) and bool(self._files.getFileStatus(self._path(path)).isDirectory())

    def size(self, path: str) -> int:
        """The length of a file in bytes."""
        return int(self._files.getFileStatus(self._path(path)).getLen())

    def parquet_rows(self, path: str) -> int:
        """Number of rows of a Parquet file, from its footer."""
        file = self._jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(self._path(path), self._configuration)
        reader = self._jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()

    def read(self, path: str) -> str:
        """The text of a small file."""
        stream = self._files.open(self._path(path))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def create(self, path: str, text: str = "") -> None:
        """Write a small file, and make its folders."""
        stream = self._files.create(self._path(path), True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def upload(self, file: Path, path: str) -> None:
        """Copy a file of this machine, in place of an older one."""
        self._files.copyFromLocalFile(False, True, self._path(file.as_uri()), self._path(path))

    def download(self, path: str, file: Path) -> None:
        """Copy a file to this machine."""
        self._files.copyToLocalFile(False, self._path(path), self._path(file.as_uri()), True)

    def make_folder(self, path: str) -> None:
        """Make a folder, and those that it is in."""
        self._files.mkdirs(self._path(path))

    def settle(self, folder: str) -> None:
        """Flush a local folder with all its files to the disk; other file systems do that themselves."""
        here = Path(str(self._path(folder).toUri().getPath()))
        if str(self._files.getUri().getScheme()) != "file" or not here.is_dir():
            return
        for one in (*(file for file in here.rglob("*") if file.is_file()), here):
            descriptor = os.open(one, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all that is in it, if it exists."""
        self._files.delete(self._path(path), True)

    def move(self, source: str, target: str) -> bool:
        """Rename, in one step on disks and on HDFS; False if the target exists, or it was refused."""
        # Hadoop would put the source into a folder that is there already, which is never what is meant.
        return not self.exists(target) and bool(self._files.rename(self._path(source), self._path(target)))
