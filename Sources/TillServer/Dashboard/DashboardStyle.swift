/// What only the dashboard's pages look like, behind the style sheet of all pages.
enum DashboardStyle {
    static let text: StaticString = #"""
        .who form { margin: 0; }
        .filters {
          display: grid; grid-template-columns: 11rem 1fr 1.4fr auto; gap: .75rem; align-items: end; margin-bottom:
          1rem;
        }
        .badge.none { border-color: transparent; padding-inline: 0; }
        .orders, main > .refusals, .quarantine {
          border: 1px solid var(--line); border-radius: 10px; border-collapse: separate; border-spacing: 0;
        }
        .orders tbody tr:hover { background: var(--hover); }
        .product a { font-weight: 600; }
        .orders .product { min-width: 15rem; }
        .orders th:nth-child(4), .quarantine th:nth-child(3), .postings th:nth-child(5) { text-align: right; }
        .claims tbody th { width: 16rem; }

        @media (max-width: 640px) {
          .filters { grid-template-columns: 1fr 1fr; }
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

        """#
}
