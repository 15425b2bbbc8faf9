"""Folders of Parquet files or JSON lines that every reader sees whole: written aside, then renamed in one step.

    path/                         a stream                       path/                  one run
      batch=0/part-00000.jsonl      one folder per micro-batch     part-00000.jsonl       the folder appears as a whole
      batch=2/part-00000.jsonl                                     _SUCCESS
      _empty/batch=1                a batch without rows
      _owner                        whose batches these are
      _staging/…                    what is being written
      _written/batch=0              object stores only: the batch is there with all of its files

Names that begin with `_` are passed over by Spark, pyarrow and pandas, and hold no `.parquet` or `.jsonl` file once a
batch is done.
"""

from __future__ import annotations

import re
import uuid
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from vedette.errors import DeliveryError, FileError
from vedette.spark.pipeline.job_descriptions import described
from vedette.spark.pipeline.sinks.base import Batch, Delivery
from vedette.spark.pipeline.sinks.hadoop import FileSystem
from vedette.spark.pipeline.sinks.rows import as_json, typed

_PART = re.compile(r"part-(\d+)-.*?(-c\d+)?\.txt(.*)")
_OURS = re.compile(r"part-.*|batch=\d+|_SUCCESS|_empty|_owner|_staging|_written|\..*\.crc")


class FolderSink:
    """A folder of files; each batch is in it once, with all of its rows or not at all."""

    delivery: Delivery = "exactly once"

    def __init__(self, name: str, path: str, *, format: Literal["parquet", "jsonl"], replace: bool = False) -> None:
        self.name = name
        self.path = path.rstrip("/") or "/"
        self._format = format
        self._replace = replace

    def check(self, spark: SparkSession, *, streaming: bool) -> None:
        """Check that the folder can be made (one run), or holds nothing but batches (a stream)."""
        files = FileSystem(spark, self.path)
        names = files.names(self.path)
        if files.exists(self.path) and not files.is_folder(self.path):
            raise FileError(f"{self.path} is a file; the sink {self.name} writes a folder\nHint: choose another `path`")
        strange = sorted(name for name in names if not _OURS.fullmatch(name))
        if streaming:
            strange += [name for name in names if name.startswith("part-") or name == "_SUCCESS"]
            if strange and "_owner" not in names:
                raise FileError(
                    f"the sink {self.name} would mix its batches with what is in {self.path}, such as {strange[0]}\n"
                    "Hint: choose another `path`, or move what is there away"
                )
        elif names and not self._replace:
            raise FileError(
                f"the sink {self.name} writes {self.path}, which is there already\n"
                'Hint: choose another `path`, or set `if_exists = "replace"`'
            )
        elif strange:
            raise FileError(
                f"the sink {self.name} does not replace {self.path}: it holds {strange[0]}, which no pipeline wrote\n"
                "Hint: choose another `path`, or clear the folder yourself"
            )

    def write(self, notifications: DataFrame, batch: Batch) -> None:
        """Write to a staging folder, then rename; a micro-batch that is there already is left as it is."""
        spark = notifications.sparkSession
        with described(spark, batch.doing(f"write {self.name}")):
            if batch.number is None:
                self.check(spark, streaming=False)
                self._write_run(notifications, FileSystem(spark, self.path))
            else:
                self._write_batch(notifications, batch, FileSystem(spark, self.path))

    def _write_batch(self, rows: DataFrame, batch: Batch, files: FileSystem) -> None:
        folder, mark, empty = (f"{self.path}/{part}batch={batch.number}" for part in ("", "_written/", "_empty/"))
        self._own(rows, batch, files)
        if files.exists(empty) or files.exists(folder if files.moves_at_once else mark):
            return
        files.delete(f"{self.path}/_staging")  # what an attempt left that was cut short
        files.delete(folder)  # ... and, in an object store, what it had copied of it
        # Under a name of its own, so that no late task of such an attempt writes among our files.
        staging = f"{self.path}/_staging/{uuid.uuid4().hex}"
        if self._stage(rows, staging, files):
            self._move(files, staging, folder)
            if not files.moves_at_once:
                files.create(mark)
        else:
            files.create(empty)
        files.delete(f"{self.path}/_staging")

    def _write_run(self, rows: DataFrame, files: FileSystem) -> None:
        parent, _, last = self.path.rpartition("/")
        staging, former = f"{parent}/_staging_{last}", f"{parent}/_replaced_{last}"
        files.delete(staging)
        self._stage(rows, staging, files, keep_empty=True)
        if files.names(self.path):
            files.delete(former)
            self._move(files, self.path, former)
        else:
            files.delete(self.path)  # an empty folder: the rename would go into it
        try:
            self._move(files, staging, self.path)
        except BaseException:
            files.move(former, self.path)
            raise
        files.delete(former)

    def _stage(self, rows: DataFrame, staging: str, files: FileSystem, *, keep_empty: bool = False) -> bool:
        """Write the rows to the staging folder, without empty files; False if there are no rows at all."""
        if self._format == "parquet":
            typed(rows).write.parquet(staging)
        else:
            rows.select(as_json(rows).alias("value")).write.text(staging)
            for name in files.names(staging):
                if (part := _PART.fullmatch(name)) is not None:
                    chunk = "" if part[2] in (None, "-c000") else part[2]
                    self._move(files, f"{staging}/{name}", f"{staging}/part-{part[1]}{chunk}.jsonl{part[3]}")
        files.settle(staging)
        parts = [name for name in files.names(staging) if name.startswith("part-")]
        # Spark writes no file for a partition without rows, but for the first: somebody may ask for the columns.
        first = f"{staging}/{parts[0]}" if parts else None
        if first is not None and (len(parts) > 1 or not keep_empty) and self._is_empty(files, first):
            files.delete(first)
            return len(parts) > 1
        return bool(parts)

    def _is_empty(self, files: FileSystem, file: str) -> bool:
        return files.parquet_rows(file) == 0 if self._format == "parquet" else files.size(file) == 0

    def _own(self, rows: DataFrame, batch: Batch, files: FileSystem) -> None:
        """Check that the batches in the folder are of this stream: those of another have the same numbers."""
        if "batch" in (name.lower() for name in rows.columns):
            raise FileError(
                f"the sink {self.name} cannot keep an attribute called batch: readers take the number in the folder's "
                "name for it\nHint: take it out of `keep`, or write to a sink that is no folder"
            )
        owner, me = f"{self.path}/_owner", f"{self.name} of {batch.pipeline}, checkpoint {batch.checkpoint}\n"
        if not files.exists(owner):
            self.check(rows.sparkSession, streaming=True)
            files.create(owner, me)
        elif (other := files.read(owner)) != me:
            raise DeliveryError(
                f"{self.path} holds batches of another stream ({other.strip()}), this one is {me.strip()}: "
                "batches of the same number would be taken for one another\n"
                "Hint: choose another `path`; or move the folder away if the checkpoint was begun anew"
            )

    def _move(self, files: FileSystem, source: str, target: str) -> None:
        if not files.move(source, target):
            raise DeliveryError(
                f"the sink {self.name} could not rename {source} to {target}\n"
                "Hint: is somebody else writing there? Nothing is lost: start the pipeline again"
            )
