// The style of the demo's page. Colours of the four models keep apart for all kinds of colour vision (after Okabe and
// Ito), on light and on dark ground.
#pragma once

#include <string_view>

namespace zkapex::demo {

inline constexpr std::string_view kDemoStyle = R"css(
:root { color-scheme: light dark; --ground: #fff; --card: #f6f7f9; --ink: #1b1f24; --muted: #57606a; --line: #d0d7de;
  --before: #0072b2; --mask: #c65102; --ours: #008a64; --exact: #8250b3; --bad: #b3261e; --good: #00704f; }
@media (prefers-color-scheme: dark) { :root { --ground: #101418; --card: #1a2027; --ink: #e6e9ec; --muted: #a3adb8;
  --line: #37414c; --before: #56b4e9; --mask: #f0a030; --ours: #2fc99b; --exact: #c9a0ee; --bad: #ff9d94; --good: #57d9ae; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 20px 16px 56px; }
h1 { font-size: 1.65rem; line-height: 1.2; margin: .4em 0 .3em; }
h2 { font-size: 1.2rem; margin: 2.2em 0 .5em; }
h3 { font-size: 1rem; margin: 1.1em 0 .4em; }
p { max-width: 74ch; margin: .5em 0; }
.muted, figcaption, caption { color: var(--muted); font-size: .875rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 18px 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px; }
.tile b { display: block; font-size: 1.45rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile > span { color: var(--muted); font-size: .84rem; line-height: 1.35; display: block; }
.pair { display: grid; grid-template-columns: 1fr; gap: 8px 32px; align-items: start; }
@media (min-width: 860px) { .pair { grid-template-columns: 1fr 1fr; } }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(280px, 1fr)); gap: 8px 28px; }
figure { margin: 10px 0; } figure svg { display: block; width: 100%; max-width: 520px; height: auto; overflow: visible; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; padding-bottom: 6px; }
th, td { text-align: right; padding: 6px 8px; border-bottom: 1px solid var(--line); vertical-align: top; }
th:first-child, td:first-child { text-align: left; padding-left: 0; } th { font-weight: 600; }
thead th { vertical-align: bottom; color: var(--muted); font-size: .84rem; }
tr.client th { padding-top: 14px; } tr.ours td { font-weight: 700; }
table.words td, table.words th { text-align: left; }
td .muted { font-size: .9em; font-weight: 400; }
[data-figure], .nowrap { white-space: nowrap; }
.swatch { display: inline-block; width: .72em; height: .72em; border-radius: 2px; margin-right: .5em; }
.swatch.before { background: var(--before); } .swatch.mask_only { background: var(--mask); }
.swatch.ours { background: var(--ours); } .swatch.exact { background: var(--exact); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(122px, 1fr)); gap: 10px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px; font-size: .84rem; line-height: 1.4; }
.card img { width: 96px; height: 96px; display: block; margin: 0 auto 8px; image-rendering: pixelated; border-radius: 4px; }
.card dl { margin: 0; } .card dt { color: var(--muted); } .card dd { margin: 0 0 4px; }
@media (max-width: 480px) { table { font-size: .8rem; } th, td { padding: 5px 3px; } thead th { font-size: .74rem; } }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px; overflow-x: auto; font-size: .82rem; line-height: 1.5; }
svg text { fill: var(--ink); font: 12px system-ui, "DejaVu Sans", sans-serif; }
svg .small { fill: var(--muted); font-size: 11px; } svg .halo { paint-order: stroke; stroke: var(--ground); stroke-width: 4px; } svg .strong { font-weight: 600; } svg .value { font-weight: 600; }
svg .before { fill: var(--before); } svg .mask_only { fill: var(--mask); } svg .ours { fill: var(--ours); } svg .exact { fill: var(--exact); }
svg .members { fill: var(--muted); } svg .others { fill: var(--line); stroke: var(--muted); stroke-width: 1; }
svg .axis { stroke: var(--muted); stroke-width: 1; } svg .grid { stroke: var(--line); stroke-width: 1; }
svg .limit { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .lane { stroke: var(--line); stroke-width: 2; } svg .box, svg .note { fill: var(--card); stroke: var(--line); }
svg .flow { stroke: var(--ours); stroke-width: 1.8; } svg .flow.head { fill: var(--ours); stroke: none; }
)css";

}  // namespace zkapex::demo
