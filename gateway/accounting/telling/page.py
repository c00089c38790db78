"""The report's pages, to be filled in by `report` and, of several logs, by `together`."""

from __future__ import annotations

from string import Template
from typing import Final

_HEAD: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reconciliation: $verdict</title>
<style>
:root { color-scheme: light; --ink: #1b1f24; --soft: #545d66; --line: #dde2e7; --paper: #ffffff;
  --card: #f6f8fa; --good: #0e6640; --good-paper: #e6f5ee; --bad: #b3261e; --bad-paper: #fdecea;
  --s0: #1f6fb2; --s1: #c2570c; --s2: #3f8f4f; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --ink: #e6e9ec;
  --soft: #a3adb7; --line: #2c333a; --paper: #14181c; --card: #1c2127; --good: #5fd09b;
  --good-paper: #12301f; --bad: #ff8a80; --bad-paper: #3a1614; --s0: #6fb4ee; --s1: #f0995a;
  --s2: #76c98a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 24px 64px; }
header { border-radius: 10px; padding: 18px 24px; margin: 16px 0; }
header.good { background: var(--good-paper); } header.bad { background: var(--bad-paper); }
h1 { margin: 0 0 4px; font-size: 28px; line-height: 1.2; } header p { margin: 0; max-width: 76ch; }
header.good h1, td.good, span.good { color: var(--good); }
header.bad h1, td.bad, span.bad { color: var(--bad); }
h2 { font-size: 19px; margin: 40px 0 4px; } h3 { font-size: 15px; margin: 20px 0 4px; }
h2 + p { margin: 0 0 10px; color: var(--soft); max-width: 76ch; }
nav { color: var(--soft); font-size: 14px; } nav a { margin-right: 14px; white-space: nowrap; }
a { color: var(--s0); }
dl { display: grid; grid-template-columns: repeat(4, 1fr); gap: 10px; margin: 10px 0; }
dl div { background: var(--card); border-radius: 8px; padding: 9px 14px; }
dl div.half { grid-column: span 2; }
dt { color: var(--soft); font-size: 13px; } dd { margin: 0; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: 13px; }
th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { vertical-align: bottom; } tbody th { color: inherit; }
td { overflow-wrap: break-word; min-width: 4em; max-width: 32em; } td.n { min-width: 0; }
td:first-child:not(.n) { overflow-wrap: anywhere; min-width: 16em; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); }
.wide { overflow-x: auto; margin: 8px 0 4px; }
.n { text-align: right; font-variant-numeric: tabular-nums; } td.n { white-space: nowrap; }
.n:last-child { padding-right: 2px; }
td.n.good, td.n.bad { font-weight: 600; } .mute, .none { color: var(--soft); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
code, pre { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
p code, li code, dd code, .break code { overflow-wrap: anywhere; } th code { white-space: nowrap; }
.break { border-left: 3px solid var(--bad); padding: 2px 0 2px 12px; margin: 10px 0; }
.break p { margin: 4px 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
.break > p:first-child { overflow-wrap: anywhere; } .break > p:last-child { margin-top: 0; }
pre { background: var(--card); border-radius: 8px; padding: 8px 12px; margin: 6px 0;
  overflow-x: auto; }
figure { margin: 14px 0 6px; } figcaption { font-size: 14px; font-weight: 600; }
svg { display: block; width: 100%; max-width: 760px; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, "DejaVu Sans", sans-serif; }
svg line { stroke: var(--line); } svg path { fill: none; stroke-width: 1.6; }
svg .s0 { stroke: var(--s0); } svg .s1 { stroke: var(--s1); } svg .s2 { stroke: var(--s2); }
svg path.s1 { stroke-dasharray: 6 3; } svg path.s2 { stroke-dasharray: 2 2; }
svg rect.s0 { fill: var(--s0); } svg rect.s1 { fill: var(--s1); } svg rect.s2 { fill: var(--s2); }
.legend { list-style: none; margin: 2px 0; padding: 0; font-size: 13px; color: var(--soft); }
.legend li { display: inline-block; margin-right: 16px; }
.legend span { display: inline-block; width: 12px; height: 12px; margin-right: 6px;
  border-radius: 2px; vertical-align: -1px; }
.legend .s0 { background: var(--s0); } .legend .s1 { background: var(--s1); }
.legend .s2 { background: var(--s2); }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
@media (max-width: 700px) { main { padding: 12px 14px 48px; } h1 { font-size: 23px; }
  dl { grid-template-columns: repeat(2, 1fr); } header { padding: 14px 16px; }
  nav a { display: inline-block; padding: 4px 0; } svg { min-width: 640px; }
  td:first-child:not(.n) { min-width: 11em; } }
@page { size: A4; margin: 14mm; }
@media print { body { font-size: 10.5px; } main { padding: 0; max-width: none; }
  nav { display: none; }
  header, dl div, pre { border: 1px solid var(--line); } .wide { overflow: visible; }
  table, th, code, pre { font-size: 9px; } th, td { padding: 3px 6px 3px 0; }
  td, td:first-child:not(.n) { overflow-wrap: anywhere; min-width: 0; }
  th:first-child, td:first-child { position: static; background: none; }
  th code { white-space: normal; } th { font-size: 9px; }
  .many table, .many th { font-size: 7.5px; } .many th, .many td { padding-right: 4px; }
  details.more:not([open]) > summary::after { content: ", not on paper: report.json has them"; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; overflow: visible; }
  h2, h3 { break-after: avoid; } figure, tr, .break > p { break-inside: avoid; }
  svg { max-width: 150mm; } * { print-color-adjust: exact; } }
</style>
</head>
<body>
<main>
"""
PAGE: Final = Template(
    _HEAD
    + """<dl class="ran">
<div class="half"><dt>Audit log</dt><dd><code>$log</code>$half</dd></div>
$ran
</dl>
<header class="$state"><h1>$verdict</h1><p>$sentence</p><p>$covers</p></header>
<dl>
<div><dt>Records</dt><dd>$records</dd></div>
<div><dt>Segments</dt><dd>$segments ($octets)</dd></div>
<div><dt>Sequence</dt><dd>$sequence</dd></div>
<div><dt>Runs of the gateway</dt><dd>$incarnations</dd></div>
<div class="half"><dt>First record (UTC)</dt><dd>$first</dd></div>
<div class="half"><dt>Last record (UTC)</dt><dd>$last</dd></div>
</dl>
<nav aria-label="Contents"><a href="#seals">Seals</a><a href="#breaks">Breaks</a>
<a href="#queues">Queues</a><a href="#outlets">Outlets</a><a href="#routes">Routes</a>
<a href="#flow">Flow</a><a href="#waits">Waits</a><a href="#migration">Migration</a>
<a href="#losses">Losses</a></nav>
<h2 id="seals">Seals</h2>
$seals
<h2 id="classes">Classes of breaks</h2>
<p>What was looked for, and how much of it was found.</p>
$classes
<h2 id="breaks">Breaks</h2>
<p>Damage of the log first: it is the cause of what cannot be proven, which stands last and is not
counted. Below a break are the steps of its message around it, and the command that tells all.</p>
$breaks
$ledger
$identities
<h2 id="flow">Flow and depth</h2>
<p>By the gateway's clock. What was recovered after a restart is there, and has not entered
again.</p>
$flow
<h2 id="waits">Waits</h2>
<p>From entering a queue until somebody settled the copy for good, to within a tenth; the longest is
exact.</p>
$waits
<h3>Until publishers were told</h3>
<p>From when a message came until its publisher was told how it ended, where both are near each
other in the log; what is sent settled is told to nobody.</p>
$told
<h2 id="migration">Migration</h2>
<p>Who still speaks 0-10, and what is used that the gateway does not offer.</p>
$migration
<h2 id="losses">Declared losses</h2>
<p>Values that the other protocol has no place for. Declared, so no breaks.</p>
$losses
$again
<footer>All that this page says is in <code>report.json</code>; the tables behind it are Parquet
files beside it: <code>breaks</code>, <code>queues</code>, <code>outlets</code>,
<code>routes</code>, <code>figures</code>, <code>ledger</code>, <code>segments</code>.</footer>
</main>
</body>
</html>
"""
)
# Of several logs: which of their pages says what.
SEVERAL: Final = Template(
    _HEAD
    + """<header class="$state"><h1>$verdict</h1><p>$sentence</p></header>
<h2>Logs</h2>
<p>Each has a ledger of its own, and a page.</p>
$logs
$breaks
<footer>All that this page says is in <code>report.json</code>; each log has its own, with its
tables, in the directory that is called as its id.</footer>
</main>
</body>
</html>
"""
)
