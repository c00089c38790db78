"""The report's page, to be filled in by `report`."""

from __future__ import annotations

from string import Template
from typing import Final

PAGE: Final = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reconciliation: $verdict</title>
<style>
:root { --ink: #1b1f24; --soft: #5c6670; --line: #e3e7eb; --paper: #ffffff; --card: #f6f8fa;
  --good: #11734b; --good-paper: #e6f5ee; --bad: #b3261e; --bad-paper: #fdecea; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa4ae; --line: #2c333a;
  --paper: #14181c; --card: #1c2127; --good: #5fd09b; --good-paper: #12301f; --bad: #ff8a80;
  --bad-paper: #3a1614; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
header { border-radius: 10px; padding: 20px 24px; margin-bottom: 20px; }
header.good { background: var(--good-paper); } header.bad { background: var(--bad-paper); }
h1 { margin: 0 0 4px; font-size: 28px; } header.good h1, .good { color: var(--good); }
header.bad h1, .bad { color: var(--bad); } header p { margin: 0; max-width: 70ch; }
h2 { font-size: 18px; margin: 36px 0 4px; } h2 + p { margin: 0 0 10px; color: var(--soft); }
dl { display: grid; grid-template-columns: repeat(4, 1fr); gap: 10px; margin: 0; }
dl div { background: var(--card); border-radius: 8px; padding: 10px 14px; }
dl div.half { grid-column: span 2; }
@media (max-width: 700px) { dl { grid-template-columns: repeat(2, 1fr); } }
dt { color: var(--soft); font-size: 13px; } dd { margin: 0; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: 13px; }
th, td { padding: 7px 12px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; } .wide { overflow-x: auto; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.n:last-child { padding-right: 0; }
td.n.good, td.n.bad { font-weight: 600; } .mute, .none { color: var(--soft); }
code { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
td code { white-space: nowrap; } #classes td.n { padding-right: 24px; }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
@media print { header, dl div { border: 1px solid var(--line); } }
</style>
</head>
<body>
<main>
<header class="$state"><h1>$verdict</h1><p>$sentence</p></header>
<dl>
<div><dt>Records</dt><dd>$records</dd></div>
<div><dt>Segments</dt><dd>$segments ($octets)</dd></div>
<div><dt>Sequence</dt><dd>$sequence</dd></div>
<div><dt>Runs of the gateway</dt><dd>$incarnations</dd></div>
<div class="half"><dt>Time (UTC)</dt><dd>$first to $last</dd></div>
<div class="half"><dt>Audit log</dt><dd><code>$log</code>$half</dd></div>
</dl>
<h2>Seals</h2>
$seals
<h2>Classes of breaks</h2>
<p>What was looked for, and how much of it was found.</p>
<table id="classes"><tbody>$classes</tbody></table>
<h2>Breaks</h2>
<p>One line each, damage of the log first. What cannot be proven without records that cannot be
read stands last, and is not counted.</p>
$breaks
$identities
<h2>Declared losses</h2>
<p>Values that the other protocol has no place for, by mapping row. Declared, so no breaks.</p>
$losses
$again
<footer>The tables behind this page are Parquet files beside it: <code>breaks</code>,
<code>queues</code>, <code>outlets</code>, <code>routes</code>, <code>ledger</code>,
<code>segments</code>.</footer>
</main>
</body>
</html>
""")
