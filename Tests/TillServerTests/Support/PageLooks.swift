import Testing
import TillAppStore

extension BrowserPage {
    /// No horizontal scrolling, and sufficient contrast of the text (WCAG 2.2, 1.4.3 and 1.4.10).
    func checkLooks(_ look: String) async throws {
        let widths = try await value("[document.documentElement.scrollWidth, window.innerWidth]").array ?? []
        #expect(widths.count == 2 && (widths[0].int ?? 9_999) <= (widths[1].int ?? 0), "\(look): \(widths)")
        let faint = try await value(Self.contrast)
        #expect(faint.array?.isEmpty == true, "\(look): \(faint.encoded())")
        let unnamed = try await value(
            "[...document.querySelectorAll('input:not([type=hidden]), select')].filter((a) => !a.labels.length).length"
        )
        #expect(unnamed == 0, "\(look): a field without a label")
    }

    /// The texts with a contrast below 4.5.
    private static let contrast = """
        (() => {
          const parse = (text) => text.match(/[\\d.]+/g).map(Number);
          const light = (rgb) => {
            const [r, g, b] = rgb.map((value) => {
              const part = value / 255;
              return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const ground = (element) => {
            for (let one = element; one; one = one.parentElement) {
              const colour = parse(getComputedStyle(one).backgroundColor);
              if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
            }
            return [255, 255, 255];
          };
          const found = [];
          let seen = 0;
          for (const element of document.querySelectorAll("body *")) {
            const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
            if (!hasText || !element.checkVisibility()) continue;
            seen += 1;
            const [a, b] = [light(parse(getComputedStyle(element).color).slice(0, 3)), light(ground(element))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) found.push(element.className + ": " + element.textContent.slice(0, 30) + " " + ratio);
          }
          return seen < 3 ? ["too little text to measure"] : found;
        })()
        """
}
