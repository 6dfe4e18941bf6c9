/// The dashboard's own styles, appended to the style sheet of all pages.
enum DashboardStyle {
    static let text: StaticString = #"""
        .who form { margin: 0; }
        .test-server {
          margin: 0; padding: .6rem 1.25rem; text-align: center; font-weight: 600; color: var(--waiting);
          background: var(--waiting-ground);
        }
        .filters {
          display: grid; grid-template-columns: 11rem 1fr 1.4fr auto; gap: .75rem; align-items: end; margin-bottom:
          1rem;
        }
        .badge.none { border-color: transparent; padding-inline: 0; }
        .orders, main > .refusals, .quarantine, .transfers {
          border: 1px solid var(--line); border-radius: 10px; border-collapse: separate; border-spacing: 0;
        }
        .orders tbody tr:hover { background: var(--hover); }
        .product a { font-weight: 600; }
        .orders .product { min-width: 15rem; }
        .orders th:nth-child(4), .quarantine th:nth-child(3), .postings th:nth-child(5) { text-align: right; }
        .claims tbody th { width: 16rem; }
        .filters.one { grid-template-columns: minmax(0, 22rem) auto; }
        .decide { margin-top: 1rem; max-width: 32rem; display: grid; gap: .6rem; }

        @media (max-width: 640px) {
          .filters { grid-template-columns: 1fr 1fr; }
          .filters.one { grid-template-columns: 1fr; }
          .filters > :nth-child(3) { grid-column: 1 / -1; }
          .filters .buttons { grid-column: 1 / -1; }
          .filters .primary { flex: 1; }
          .orders tbody tr {
            display: flex; flex-wrap: wrap; justify-content: space-between; gap: .15rem .75rem; align-items: baseline;
          }
          .orders .product { flex: 0 0 calc(100% - 8rem); min-width: 0; }
          .orders .amount { order: 1; flex: 0 0 7.25rem; text-align: right; }
          .orders .status { order: 2; flex: 1 0 auto; }
          .orders .time { order: 3; font-size: .85rem; }
          .orders .user { order: 4; flex: 0 0 calc(100% - 6rem); color: var(--faint); }
          .orders .environment { order: 5; flex: 0 0 5.25rem; text-align: right; }
          .postings .to::before { content: "→ "; }
          .claims tbody th { width: auto; }
        }

        .filters.finance-choice { grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); max-width: 52rem; }
        .chart { margin: 0 0 1.1rem; display: grid; gap: .45rem; }
        .chart .line {
          display: grid; grid-template-columns: minmax(8rem, 14rem) minmax(0, 1fr) minmax(7rem, auto); gap: .15rem 1rem;
          align-items: center;
        }
        .chart .name { font-size: .9rem; }
        .chart .amount { order: 3; font-size: .9rem; }
        .chart svg { order: 2; display: block; width: 100%; height: 1.25rem; background: var(--hover); }
        .chart .good, .chart .legend .good { fill: var(--good); --swatch: var(--good); }
        .chart .busy, .chart .legend .busy { fill: var(--busy); --swatch: var(--busy); }
        .chart .idle { fill: var(--idle); }
        .chart .waiting, .chart .legend .waiting { fill: var(--waiting); --swatch: var(--waiting); }
        .chart .bad, .chart .legend .bad { fill: var(--bad); --swatch: var(--bad); }
        .chart .legend {
          list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; margin: .45rem 0 0; font-size:
          .82rem; color: var(--faint);
        }
        .chart .legend li::before {
          content: ""; display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-right: .4rem;
          background: var(--swatch);
        }
        .figures { font-size: .92rem; }
        .figures th:nth-child(n+3) { text-align: right; }
        .figures th, .figures td { padding: .5rem .5rem; }
        .figures .name { min-width: 9rem; }
        .import { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin-top: 1.1rem; }
        .import > div { flex: 1 1 18rem; max-width: 32rem; }
        .import input { height: auto; }
        .findings { border: 1px solid var(--line); margin: 1rem 0; }

        @media (max-width: 640px) {
          .filters.finance-choice > :nth-child(3) { grid-column: auto; }
          .chart .line { grid-template-columns: minmax(0, 1fr) auto; }
          .chart svg { order: 3; grid-column: 1 / -1; }
          .chart .amount { order: 2; }
          .figures td[data-title], .findings td[data-title] {
            display: flex; justify-content: space-between; gap: 1rem;
          }
          .figures td[data-title]::before, .findings td[data-title]::before {
            content: attr(data-title); color: var(--faint);
          }
        }

        """#
}
