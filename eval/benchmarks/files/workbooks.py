"""Workbooks of spreadsheets: the values of their sheets, and no formulas."""

import io
import zipfile
import zlib

from ucurve.errors import UserError
from ucurve.eval.benchmarks.files.source_file import SourceFile

Sheet = list[tuple[object, ...]]


def read_sheets(file: SourceFile) -> list[Sheet]:
    """Return the rows of each sheet of a workbook, in its order."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise UserError(f"{file.place}: xlsx files need openpyxl; install ucurve with the extra xlsx") from error
    content = io.BytesIO(file.read())
    try:
        with zipfile.ZipFile(content) as packed:  # a workbook is a zip
            file.budget.take(sum(info.file_size for info in packed.infolist()), file.place)
        book = load_workbook(content, read_only=True, data_only=True)
        return [list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets]
    # SyntaxError is that of broken XML
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, SyntaxError, RuntimeError) as error:
        raise UserError(f"{file.place}: not an xlsx file ({error})") from error
