"""The features of `docs/compared.md`, with the tests that show them, below `tests/`."""

from __future__ import annotations

SHOWN_BY: dict[str, tuple[str, ...]] = {
    "selection by code, prefix or name": (
        "rules/test_selection.py::TestSelectors::test_prefixes",
        "rules/test_selection.py::TestPrecedence::test_the_longer_one_wins",
    ),
    "an unknown code is an error": (
        "cli/test_check.py::TestExitCodes::test_an_unknown_rule_in_a_settings_file_names_it",
    ),
    "per-file ignores": (
        "config/test_load.py::TestOptions::test_their_globs_are_relative_to_here",
        "integrations/test_as_ruff_does.py::test_files_are_left_out_as_ruff_does",
    ),
    "rules off by default": (
        "rules/test_selection.py::TestPrecedence::test_pedantic_rules_are_asked_for",
    ),
    "severity": ("cli/test_outputs.py::TestFailOn::test_only_what_is_as_bad_counts",),
    "confidence": ("lint/test_run.py::test_min_confidence",),
    "target version of the library": (
        "project/test_target.py::test_a_rule_is_off_outside_of_its_versions",
        "cli/test_check.py::TestTargetJax::test_from_the_project_and_said",
    ),
    "target version of the language": (
        "lint/test_api.py::test_syntax_that_is_newer_than_this_python",
    ),
    "old codes and names go on working": (
        "rules/test_redirects.py::test_an_old_code_or_name_selects_the_rule_of_today",
        "rules/test_redirects.py::test_an_old_code_or_name_silences_the_rule_of_today",
    ),
    "stability policy": (
        "docs/test_versions.py::test_no_code_of_any_version_is_lost",
        "docs/test_versions.py::test_version_1_of_the_json_output_has_its_fields",
    ),
    "third-party rules": (),
    "models of other libraries, as settings": (
        "cli/test_models.py::test_what_a_model_says_is_applied",
        "cli/test_models.py::test_without_models_nothing_is_known",
        "verify/test_verify_models.py::test_each_function_is_called",
    ),
    "inline suppression with codes": (
        "lint/suppressions/test_comments.py::test_comment_at_the_end_of_the_line",
        "lint/suppressions/test_comments.py::test_only_what_is_named_is_silenced",
    ),
    "suppression on the line above": ("lint/suppressions/test_comments.py::test_own_line_above",),
    "block suppression": ("lint/suppressions/test_blocks.py::test_from_off_to_on",),
    "whole-file suppression": ("lint/suppressions/test_comments.py::test_whole_file",),
    "unused suppressions are found": (
        "lint/suppressions/test_unused.py::test_a_run_over_the_folder_sees_what_the_comments_silence",
        "integrations/test_as_ruff_does.py::test_comments_are_read_as_ruff_reads_them",
    ),
    "unknown codes in suppressions are found": (
        "integrations/test_as_ruff_does.py::test_comments_are_read_as_ruff_reads_them",
    ),
    "suppressions written for you": (
        "cli/test_adopting.py::TestAddNoqa::test_the_next_run_is_clean",
        "lint/suppressions/test_add_noqa.py::test_every_fixture_is_clean_afterwards",
    ),
    "only changed lines": (
        "cli/test_since.py::TestNewSince::test_lines_that_have_changed",
        "cli/test_since.py::TestDiffAgainst::test_as_text",
    ),
    "baseline": (
        "cli/test_adopting.py::TestBaseline::test_moved_lines_are_known",
        "cli/test_adopting.py::TestBaseline::test_growth_is_a_finding",
        "cli/test_adopting.py::TestFewer::test_it_never_grows",
    ),
    "fixes": (
        "cli/test_check.py::TestFixes::test_fix",
        "test_fixtures.py::test_case",
    ),
    "safe and unsafe fixes": (
        "rules/test_treatment.py::test_fixes",
        "lint/fixes/test_apply.py::test_levels",
        "lint/test_run.py::test_unsafe_fixes_only_where_asked",
    ),
    "a diff": (
        "cli/test_check.py::TestFixes::test_diff",
        "report/test_diff.py::test_git_applies_it",
    ),
    "fixes until none is left": (
        "lint/fixes/test_apply.py::test_nested_fixes_take_another_round",
        "lint/fixes/test_apply.py::test_result_that_does_not_parse_is_taken_back",
        "composed/test_composed.py::test_every_pair_of_rules_in_one_file",
    ),
    "a rule explained in the terminal": (
        "cli/test_rule.py::test_text",
        "cli/test_rule.py::test_json",
    ),
    "a page for each rule": (
        "docs/test_site.py::test_every_page_is_built_and_found_from_the_first",
    ),
    "pages made from the rules themselves": (
        "docs/test_generated.py::test_the_page_says_what_the_command_says",
        "test_meta.py::test_the_example_is_flagged",
    ),
    "hazard and fix run for real": (
        "verify/test_claims_under_attack.py::test_the_claim_holds_and_every_attack_on_it_fails",
    ),
    "flake8's format": (
        "report/test_text.py::test_the_lines_of_flake8",
        "report/test_editors.py::test_vim",
        "report/test_editors.py::test_emacs",
    ),
    "code frames": ("report/test_full.py::test_a_finding_in_two_files",),
    "JSON, JSON lines": (
        "report/test_json.py::test_the_whole_form",
        "cli/test_check.py::TestFormats::test_json",
    ),
    "SARIF": (
        "report/test_sarif.py::test_it_is_what_the_standard_says",
        "report/test_sarif.py::test_microsofts_reader_reads_it",
    ),
    "GitHub annotations": (
        "report/test_services.py::TestGitHub::test_nothing_gets_out_of_a_command",
    ),
    "GitLab code quality": ("report/test_services.py::TestGitLab::test_an_issue",),
    "JUnit, rdjson": (
        "report/test_services.py::TestJUnit::test_a_reader_reads_it",
        "report/test_services.py::TestReviewdog::test_edits_are_one_suggestion",
    ),
    "Markdown": (
        "report/test_markdown.py::test_a_table",
        "test_ci.py::TestLint::test_the_summary_of_the_job",
    ),
    "several outputs at once": (
        "cli/test_outputs.py::TestSeveralAtOnce::test_files_in_formats_beside_what_is_printed",
    ),
    "custom output template": (),
    "statistics": (
        "cli/test_outputs.py::TestStatistics::test_as_text",
        "cli/test_outputs.py::TestTiming::test_it_is_said_beside_the_findings",
    ),
    "a limit to what is written": (
        "cli/test_outputs.py::TestMaxFindings::test_no_more_are_written_and_all_are_counted",
    ),
    "progress": (
        "cli/test_progress.py::test_a_long_run_on_a_terminal_shows_it",
        "cli/test_progress.py::test_nothing_is_shown_where_no_terminal_is",
    ),
    "colour": ("cli/test_streams.py::test_colour",),
    "links on terminals": ("cli/test_outputs.py::TestLinks::test_on_a_terminal_that_knows_them",),
    "documented exit codes": ("docs/test_versions.py::test_exit_codes_are_three",),
    "findings fail the run": ("cli/test_check.py::TestExitCodes::test_findings",),
    "a level to fail on": (
        "cli/test_outputs.py::TestFailOn::test_only_what_is_as_bad_counts",
        "cli/test_check.py::TestExitCodes::test_exit_zero_is_about_findings_only",
    ),
    "a missing path is an error": (
        "cli/test_check.py::TestExitCodes::test_a_missing_path_does_not_hide_the_rest",
    ),
    "settings in `pyproject.toml`": ("config/test_load.py::test_all_settings",),
    "settings of each folder": (
        "config/test_load.py::test_nearest_file_wins_and_files_are_not_merged",
        "config/test_load.py::TestExtend::test_what_is_not_set_is_that_of_the_other_file",
    ),
    "an unknown setting is an error": (
        "config/test_values.py::test_what_is_wrong_is_said",
        "cli/test_check.py::TestExitCodes::test_wrong_settings_are_2",
    ),
    "a JSON schema of the settings": (
        "config/test_schema.py::test_what_loads_is_valid_and_nothing_else",
    ),
    "settings on the command line, or none": (
        "config/test_load.py::TestConfigOption::test_pairs_win_over_files_and_lose_to_options",
        "config/test_load.py::test_isolated_reads_no_file",
    ),
    "the settings and files that hold are shown": (
        "cli/test_check.py::TestSettings::test_show_settings",
        "cli/test_check.py::TestFiles::test_show_files",
    ),
    "what git ignores, and excludes": (
        "files/test_discovery.py::TestGitignore::test_the_same_as_git",
        "files/test_discovery.py::TestExcludes::test_force",
    ),
    "standard input with a name": (
        "cli/test_check.py::TestStandardInput::test_settings_are_those_of_the_name",
        "cli/test_check.py::TestStandardInput::test_fixed_text_is_the_output",
    ),
    "notebooks": (
        "cli/test_outputs.py::TestNotebooks::test_the_cell_is_in_every_format",
        "cli/test_check.py::TestFixes::test_a_notebook_is_fixed_in_place",
        "lint/test_scripts_in_cells.py::test_cells_are_one_module_in_order",
    ),
    "shell completion": (
        "cli/test_completion.py::test_bash",
        "cli/test_completion.py::test_zsh",
        "cli/test_completion.py::test_fish",
    ),
    "a cache": (
        "lint/incremental/test_cache.py::test_random_edits_never_make_a_difference",
        "lint/incremental/test_cache.py::TestDamage::test_other_bytes",
    ),
    "several processes": (
        "lint/test_run.py::test_same_result_for_any_order_and_any_number_of_jobs",
        "lint/test_run.py::test_file_that_kills_its_process_is_named_and_the_others_checked",
    ),
    "watch mode": ("cli/test_watch.py::test_it_runs_again_after_each_change",),
    "a background process for hooks": (
        "daemon/test_daemon.py::TestSameAsWithout::test_output_and_exit_code",
        "daemon/test_daemon.py::TestTheProcess::test_the_first_run_starts_it",
    ),
    "a language server": (
        "integrations/lsp/test_editors.py::test_neovim",
        "integrations/lsp/test_editors.py::test_emacs",
        "integrations/lsp/test_protocol.py::test_a_conversation_goes_by_the_specification",
    ),
    "code actions": (
        "integrations/lsp/test_server.py::test_a_safe_fix_is_preferred_and_does_what_it_says",
        "integrations/lsp/test_server.py::test_all_safe_fixes_are_applied_across_files_at_their_versions",
    ),
    "a flake8 plugin": ("integrations/test_flake8.py::test_fixtures_as_on_the_command_line",),
    "pre-commit hooks": (
        "test_hooks.py::test_the_hook_finds_the_fix_hook_fixes_and_then_both_pass",
    ),
    "a GitHub action": (
        "test_ci.py::TestLint::test_annotations_and_sarif",
        "test_ci.py::test_it_installs_itself",
    ),
    "values are followed": (
        "placement/test_what_is_known.py::test_what_is_known",
        "differential/test_differential.py::test_sample",
    ),
    "from a function to its callers": ("test_programs.py::test_findings_and_fixes",),
    "from file to file": (
        "project/test_modules.py::test_ways_of_binding",
        "test_programs.py::test_run",
    ),
    "no code of what is linted is run": (
        "test_security.py::test_nothing_that_is_linted_is_imported",
        "test_security.py::test_no_setting_names_code",
    ),
    "a harness for tests of rules": ("test_fixtures.py::test_case_written_in_every_way",),
    "a rule begun for you": ("test_new_rule.py::test_the_rule_is_one_as_far_as_it_goes",),
}
"""What linters were compared by. None of them may be lost, be it only that there is none here."""
