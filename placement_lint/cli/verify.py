"""`placement-lint verify`: run the proofs here, and say whether the claims hold."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from placement_lint.cli.parser import add_devices

if TYPE_CHECKING:
    import argparse

    from placement_lint.cli.parser import Parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `placement-lint verify`."""
    parser.add_argument(
        "codes",
        nargs="*",
        metavar="CODE",
        help="rules to reproduce, `datapath` for the ways to load a dataset, or `meshpath` for the "
        "ways to place what a step on a mesh is given (default: all)",
    )
    add_devices(parser)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one rule of each family, and the data path at 16 MiB: about a minute",
    )
    parser.add_argument(
        "--models",
        action="store_true",
        help="call the functions that the setting `models` describes, and no rules",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE|KEY=VALUE",
        help="with --models: a settings file to use, or one setting in TOML",
    )
    parser.add_argument(
        "--size",
        metavar="SIZE",
        help="size of the dataset of the data path, such as 64MiB or 1GiB (default: 256MiB)",
    )
    parser.add_argument(
        "--sizes",
        metavar="SIZES",
        help="several, such as 16MiB,1GiB; auto: from 16MiB to what fits (default for --report)",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write an HTML report, with charts of the data path",
    )
    parser.add_argument(
        "--output-format", choices=("text", "json"), default="text", help="default: text"
    )
    parser.add_argument(
        "--jobs",
        "-j",
        default="auto",
        metavar="N",
        help="number of parallel processes (default: the number of processors, at most 8)",
    )
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="show the code that was run"
    )


def run(args: argparse.Namespace, parser: Parser) -> int:
    """Run the proofs that args ask for.

    Returns 0 when every claim holds, 1 when one does not, 2 when they could not be run.
    """
    # Linting must not pay for what only this command needs.
    from placement_lint.cli.environment import settings_files
    from placement_lint.cli.progress import shown_on_terminal
    from placement_lint.verify.command import VerifyRequest, verify

    configs = settings_files(os.environ, args.config, parser) if args.models else args.config
    with shown_on_terminal(quiet=False) as progress:
        return verify(
            VerifyRequest(
                codes=args.codes,
                devices=args.devices,
                size=args.size,
                sizes=args.sizes,
                output_format=args.output_format,
                jobs=args.jobs,
                report=args.report,
                verbose=args.verbose > 0,
                quick=args.quick,
                models=args.models,
                configs=configs,
            ),
            progress,
        )
