/// The look of the pages. Colours are pairs of text and background with a contrast of at least 4.5 (WCAG 2.2, 1.4.3),
/// in light and in dark; colour is never the only carrier of a meaning. Below 640 px, table rows become cards. A module
/// appends the rules that only its own pages need.
public enum Stylesheet {
    public static let text: StaticString = #"""
        :root {
          color-scheme: light dark;
          --ground: #f6f7f8; --card: #ffffff; --text: #16191d; --faint: #59636e; --line: #dce0e5; --hover: #f0f3f5;
          --accent: #0f6b64; --on-accent: #ffffff; --focus: #0b57d0;
          --good: #0b5d34; --good-ground: #d9f2e3; --busy: #124a94; --busy-ground: #dce9fb;
          --idle: #4a525c; --idle-ground: #e8ebee; --bad: #9b1c1c; --bad-ground: #fbe1e1;
          --waiting: #7a4200; --waiting-ground: #fdebc8; --back: #5b2a91; --back-ground: #ece1f9;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #101316; --card: #181c20; --text: #e7eaee; --faint: #9aa5b1; --line: #2c333a; --hover: #1f252a;
            --accent: #5cc9bd; --on-accent: #07211e; --focus: #8ab4f8;
            --good: #7fdba5; --good-ground: #123523; --busy: #9cc3fb; --busy-ground: #16304f;
            --idle: #b6bfc9; --idle-ground: #2a3138; --bad: #ffa8a3; --bad-ground: #481a1a;
            --waiting: #f5c46b; --waiting-ground: #3f2c08; --back: #cfb0f7; --back-ground: #341f4f;
          }
        }
        *, *::before, *::after { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
        body {
          margin: 0; background: var(--ground); color: var(--text); overflow-wrap: anywhere;
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC",
            "Microsoft YaHei", "Noto Sans CJK SC", "WenQuanYi Micro Hei", sans-serif;
        }
        a { color: var(--accent); text-underline-offset: 2px; }
        :focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
        h1 { font-size: 1.45rem; line-height: 1.25; margin: 0; }
        h2 { font-size: 1.05rem; margin: 0 0 .75rem; }
        h3 { font-size: .92rem; margin: 1.4rem 0 .5rem; color: var(--faint); }
        p { margin: .25rem 0; }
        code, .amount, time { font-variant-numeric: tabular-nums; }
        code {
          font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .88em;
        }
        .skip { position: absolute; left: -10000px; top: 0; background: var(--card); padding: .5rem 1rem; z-index: 2; }
        .skip:focus { left: 0; }
        .hint, .nothing, footer { color: var(--faint); }
        .hint { font-size: .88rem; }
        h1 + .hint { margin: .4rem 0 1rem; }

        .bar {
          display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem; background: var(--card);
          border-bottom: 1px solid var(--line); padding: .5rem 1.25rem;
        }
        .bar nav { display: flex; gap: .25rem; order: 1; }
        .bar nav a {
          padding: .35rem .7rem; border-radius: 6px; text-decoration: none; color: var(--faint); white-space: nowrap;
        }
        .bar nav a:hover { background: var(--hover); }
        .bar nav a[aria-current] { color: var(--text); background: var(--hover); font-weight: 600; }
        .brand { font-weight: 700; font-size: 1.1rem; text-decoration: none; color: var(--accent); }
        .who { order: 2; margin-left: auto; display: flex; align-items: center; gap: 1rem; }
        .languages { display: flex; gap: .75rem; font-size: .88rem; }
        .languages span { font-weight: 600; }
        main { max-width: 76rem; margin: 0 auto; padding: 1.25rem; }
        footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem 2rem; font-size: .85rem; }
        .head { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; margin-bottom: .9rem; }
        .head h2 { margin: 0; }
        .up { font-size: .9rem; margin-bottom: .75rem; }
        .card {
          background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem;
          margin: 1rem 0;
        }
        .narrow { max-width: 26rem; margin: 8vh auto; display: grid; gap: .7rem; }
        .error { background: var(--bad-ground); color: var(--bad); border-radius: 6px; padding: .5rem .75rem; }
        .plain { list-style: none; padding: 0; margin: 0; }

        button, input, select { font: inherit; color: inherit; }
        label { font-size: .85rem; color: var(--faint); display: block; margin-bottom: .2rem; }
        input, select {
          width: 100%; background: var(--card); border: 1px solid var(--faint); border-radius: 6px;
          height: 2.5rem; padding: .45rem .6rem;
        }
        input::placeholder { color: var(--faint); opacity: 1; }
        button { border-radius: 6px; padding: .45rem .9rem; cursor: pointer; min-height: 2.5rem; }
        .primary {
          background: var(--accent); color: var(--on-accent); border: 1px solid var(--accent); font-weight: 600;
        }
        .quiet {
          background: none; border: 1px solid var(--line); color: var(--faint); min-height: 2rem; padding: .2rem
          .7rem; font-size: .88rem;
        }
        .quiet:hover { background: var(--hover); }
        .buttons { display: flex; align-items: center; gap: .9rem; }

        .live {
          display: flex; align-items: center; gap: .5rem; margin: 0 0 0 auto; font-size: .88rem; color: var(--faint);
        }
        .live[hidden] { display: none; }
        .dot { width: .6rem; height: .6rem; border-radius: 50%; background: var(--good); }
        .live[data-state="paused"] .dot { background: var(--idle); border-radius: 1px; }
        .live[data-state="lost"] .dot { background: var(--bad); }
        .live[data-state="lost"] { color: var(--bad); }

        .pill, .badge {
          display: inline-block; border-radius: 999px; padding: .1rem .6rem; font-size: .82rem; font-weight: 600;
          white-space: nowrap;
        }
        .badge {
          border-radius: 4px; font-weight: 500; padding: .05rem .45rem; border: 1px solid currentColor; color:
          var(--faint);
        }
        .badge.production { color: var(--good); }
        .badge.sandbox { color: var(--waiting); }
        .pill.good { color: var(--good); background: var(--good-ground); }
        .pill.busy { color: var(--busy); background: var(--busy-ground); }
        .pill.idle { color: var(--idle); background: var(--idle-ground); }
        .pill.bad { color: var(--bad); background: var(--bad-ground); }
        .pill.waiting { color: var(--waiting); background: var(--waiting-ground); }
        .pill.back { color: var(--back); background: var(--back-ground); }

        table { width: 100%; border-collapse: collapse; background: var(--card); }
        th {
          text-align: left; font-weight: 500; font-size: .82rem; color: var(--faint); overflow-wrap: normal;
          white-space: nowrap;
        }
        th, td { padding: .55rem .8rem; vertical-align: top; border-bottom: 1px solid var(--line); }
        tbody tr:last-child > * { border-bottom: 0; }
        .short { color: var(--faint); margin-left: .6rem; }
        .amount { text-align: right; white-space: nowrap; }
        td.time, td.status, td.environment { white-space: nowrap; }
        .day { color: var(--faint); }
        .pager { display: flex; gap: 1.25rem; padding: 1rem 0; }

        .facts {
          display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: .7rem 1.5rem; margin: 0;
        }
        dt { font-size: .82rem; color: var(--faint); }
        dd { margin: 0; }
        summary { cursor: pointer; margin: .8rem 0; color: var(--accent); }

        .timeline { list-style: none; margin: 0; padding: 0 0 0 .35rem; }
        .timeline li {
          position: relative; display: grid; grid-template-columns: 13.5rem minmax(0, 1fr); gap: 0 1rem; padding: 0 0
          1.1rem 1.4rem; border-left: 2px solid var(--line);
        }
        .timeline li:last-child { border-left-color: transparent; padding-bottom: 0; }
        .timeline li::before {
          content: ""; position: absolute; left: -7px; top: .4rem; width: 12px; height: 12px; border-radius: 50%;
          background: currentColor; border: 2px solid var(--card);
        }
        .timeline li.good::before { color: var(--good); }
        .timeline li.busy::before { color: var(--busy); }
        .timeline li.idle::before { color: var(--idle); }
        .timeline li.bad::before { color: var(--bad); border-radius: 2px; }
        .timeline li.waiting::before { color: var(--waiting); }
        .timeline li.back::before { color: var(--back); }
        tbody tr.fresh { animation: fresh 3s ease-out; }
        @keyframes fresh { from { background: var(--good-ground); } }
        @media (prefers-reduced-motion: reduce) { tbody tr.fresh { animation: none; } }

        @media (max-width: 640px) {
          main { padding: 1rem .75rem; }
          footer { padding: 0 .75rem 2rem; }
          .bar { padding: .5rem .75rem; }
          .bar nav { order: 3; flex-basis: 100%; overflow-x: auto; }
          .card { padding: .9rem; }
          table, thead, tbody, tr, td, tbody th { display: block; }
          thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
          td, tbody th { border: 0; padding: .1rem 0; }
          tbody tr { border-bottom: 1px solid var(--line); padding: .7rem .9rem; }
          .card tbody tr { padding: .7rem 0; }
          tbody tr:last-child { border-bottom: 0; }
          .amount { text-align: left; }
          .short { margin-left: .3rem; }
          .timeline li { grid-template-columns: 1fr; }
        }

        """#
}
