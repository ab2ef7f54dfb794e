"""What a plan says of where its release goes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from ...addresses import ELSEWHERE, holds_secret, is_address
from ...data.io.source import locate
from ...errors import InputError
from ...protocols import Declaration


class Output(Declaration):
    """Where the release goes, and how it is written."""

    name: ClassVar[str] = "output"

    path: str = Field("", description="folder to make; its private twin gets .private")
    database: str = Field(
        "",
        description="where the records become a table instead of files in the folder: "
        "postgresql://USER@HOST/DATABASE, or spark://CATALOG.DATABASE (spark:// for Spark's "
        "current one); never a password",
        json_schema_extra={"secret": True},  # what is refused here may hold one
    )
    table: str = Field("", description="name of that table")
    format: Literal[
        "csv",
        "tsv",
        "parquet",
        "parts",
        "arrow",
        "duckdb",
        "sqlite",
        "xlsx",
        "ods",
        "sav",
        "dta",
        "xpt",
    ] = Field(
        "csv",
        description="format of the published data; parts are a folder of Parquet files, for more "
        "records than one file should hold",
    )
    shuffle: bool = Field(
        True, description="put the records in random order, so that position tells nothing"
    )
    suppressed: str = Field("*", description="what stands for a suppressed value")
    precision: Literal["original", "full"] = Field(
        "original",
        description="decimals of published numbers: as many as the original's column has, or all "
        "that masking gives",
    )
    escape_formulas: bool = Field(
        False, description="disarm cells that a spreadsheet would run as a formula"
    )
    ledger: str = Field(
        "",
        description="file that records what was published of whom; sfumato.ledger beside the "
        "release unless given",
    )
    ledger_exception: str = Field(
        "",
        description="why people who are in earlier releases are published again without `given`; "
        "the report shows it",
    )
    allow_guessable_seed: bool = Field(
        False,
        description="save a release whose seed is below 2^64 and can be guessed, for people who do "
        "not exist; the report shows it",
    )

    @model_validator(mode="before")
    @classmethod
    def _in_parts(cls, given: Any) -> Any:
        """What goes to a database goes in parts."""
        return {"format": "parts", **given} if given.get("table") else given

    @model_validator(mode="after")
    def _both_or_none(self) -> Output:
        if bool(self.database) != bool(self.table):
            raise ValueError("database and table belong together")
        if self.table and self.format != "parts":
            raise ValueError("a table has no format: leave out format")
        return self

    @field_validator("path")
    @classmethod
    def _a_folder(cls, given: str) -> str:
        if is_address(given):
            raise ValueError("is a folder: a database goes to [output] database")
        return given

    @field_validator("database")
    @classmethod
    def _without_password(cls, given: str) -> str:
        if not given:
            return given
        try:
            found = locate(given).format
        except InputError as error:
            raise ValueError(f"{error.message} -> {error.remedy}") from None
        if found not in ("postgresql", "spark"):
            raise ValueError("is neither postgresql:// nor spark://")
        if holds_secret(given):
            raise ValueError(
                f"holds a password, and plans are read by many: leave it out, and {ELSEWHERE}"
            )
        return given
