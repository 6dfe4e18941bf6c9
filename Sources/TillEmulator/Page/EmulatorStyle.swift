/// The styles of the emulated store's pages, after the style sheet that all pages share.
enum EmulatorStyle {
    static let text: StaticString = #"""
        .said {
          background: var(--good-ground); color: var(--good); border-radius: 6px; padding: .5rem .75rem; margin: 0 0
          1rem;
        }
        main > .error { margin: 0 0 1rem; }
        main h2 { margin-top: 1.75rem; }
        .card h2, .head h3 { margin: 0; }
        .card > h2 { margin-bottom: .9rem; }
        h3.name { color: var(--text); font-size: 1rem; }
        h4 { margin: 1.25rem 0 .75rem; font-size: .88rem; font-weight: 600; color: var(--faint); }
        .under { color: var(--faint); font-size: .82rem; }
        .badges { display: inline-flex; flex-wrap: wrap; gap: .35rem; }
        .columns {
          display: grid; grid-template-columns: minmax(0, 1.7fr) minmax(0, 1fr); gap: 1.25rem; align-items: start;
        }
        .columns .card { margin: 0; }
        #results + .columns { margin-top: 1.75rem; }
        .grid { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .8rem 1rem; }
        .grid .wide { grid-column: 1 / -1; }
        .line { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .75rem; align-items: end; }
        .clock .now { font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
        .steps + .steps, form.steps { display: flex; flex-wrap: wrap; gap: .5rem; margin: .9rem 0; }
        .clock .head { margin-bottom: .3rem; }
        .clock h3 { margin: 1.2rem 0 .4rem; }
        .clock .line + .line { margin-top: .6rem; }
        .line .quiet { min-height: 2.5rem; }
        .upcoming { font-size: .88rem; }
        .upcoming li { padding: .12rem 0; }
        .plan { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; margin: 1rem 0 0; }
        .plan label { margin: 0; }
        .plan select { width: auto; max-width: 100%; min-width: 12rem; }
        .facts dd .one { display: inline-block; margin-left: .6rem; }
        .faults {
          background: var(--waiting-ground); color: var(--waiting); border-radius: 6px; padding: .5rem .75rem;
          margin: 0 0 1rem;
        }
        .faults a { color: inherit; }
        .actions { display: flex; flex-wrap: wrap; gap: .4rem; }
        .head .actions { margin-left: auto; }
        .one { margin: 0; }
        .accounts, .sales, .catalogue, .told {
          border: 1px solid var(--line); border-radius: 10px; border-collapse: separate; border-spacing: 0;
        }
        .sales tbody tr:hover, .accounts tbody tr:hover { background: var(--hover); }
        .sales th:nth-child(4) { text-align: right; }
        .sales .number, .sales .does, .catalogue .status, .told .status { white-space: nowrap; }
        .accounts .name { width: 40%; }
        .accounts .name a { font-weight: 600; }
        .catalogue .where { display: inline-block; min-width: 2.6rem; color: var(--faint); }
        .catalogue .prices { white-space: nowrap; }

        .drawing { margin: .9rem 0 1.1rem; }
        .drawing svg { display: block; width: 100%; height: 44px; }
        .drawing .line { fill: var(--line); }
        .drawing .good, .legend .good { fill: var(--good); --swatch: var(--good); }
        .drawing .busy, .legend .busy { fill: var(--busy); --swatch: var(--busy); }
        .drawing .idle, .legend .idle { fill: var(--idle); --swatch: var(--idle); }
        .drawing .bad, .legend .bad { fill: var(--bad); --swatch: var(--bad); }
        .drawing .waiting, .legend .waiting { fill: var(--waiting); --swatch: var(--waiting); }
        .drawing .back, .legend .back { fill: var(--back); --swatch: var(--back); }
        .drawing .today, .legend .today { fill: var(--text); --swatch: var(--text); }
        .axis { display: flex; justify-content: space-between; gap: 1rem; font-size: .82rem; margin-top: .35rem; }
        @media (min-width: 641px) { .axis time:not(:first-child, :last-child) { text-align: center; } }
        @media (max-width: 640px) {
          .axis time { max-width: 6rem; }
          .axis time:last-child { text-align: right; }
          .axis time:nth-child(2), .axis time:nth-child(4) { display: none; }
        }
        .over { margin-top: 1.75rem; }
        .over h2 { margin: 0; }
        .passing { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .9rem; margin-left: auto; }
        .passing form.steps { margin: 0; }
        .legend {
          list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; margin: .45rem 0 0; font-size:
          .82rem; color: var(--faint);
        }
        .legend li::before {
          content: ""; display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-right: .4rem;
          background: var(--swatch);
        }
        .legend .today::before { width: 3px; height: .9rem; border-radius: 0; vertical-align: -2px; }

        @media (max-width: 860px) {
          .columns { grid-template-columns: minmax(0, 1fr); }
        }
        @media (max-width: 640px) {
          .sales .amount, .catalogue .prices, .told .time { margin-top: .25rem; }
          .sales tbody tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .15rem .75rem; }
          .sales .number { order: 1; }
          .sales .status { order: 2; text-align: right; }
          .sales .product { order: 3; }
          .sales .amount { order: 4; text-align: right; margin: 0; }
          .sales .time { order: 5; font-size: .85rem; }
          .sales .does { order: 6; text-align: right; }
          .sales .actions { justify-content: flex-end; }
          .accounts tbody tr { display: flex; flex-wrap: wrap; gap: .15rem .9rem; align-items: baseline; }
          .accounts .name { width: auto; flex: 1 0 100%; }
          .accounts .switches { margin-left: auto; }
          .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
          .head .actions { margin-left: 0; flex-basis: 100%; }
        }

        """#
}
