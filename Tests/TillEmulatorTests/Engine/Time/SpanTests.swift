import Testing
import TillBilling

@testable import TillEmulator

@Suite("Spans in human notation")
struct SpanTests {
    @Test(
        "Whole numbers with units, largest first, are read",
        arguments: [
            ("90s", 90_000), ("30d", 2_592_000_000), ("12h", 43_200_000), ("2w", 1_209_600_000), ("5m", 300_000),
            ("250ms", 250), ("1d12h", 129_600_000), ("1w2d3h4m5s6ms", 788_645_006), ("0s", 0), ("007s", 7_000),
            ("36525d", 3_155_760_000_000),
        ] as [(String, Int64)])
    func read(_ text: String, _ milliseconds: Int64) { #expect(Span(text)?.milliseconds == milliseconds) }

    @Test(
        "Any other text is refused, and nothing overflows",
        arguments: [
            "", "d", "30", "-1d", "+1d", "1.5d", "30 d", " 30d", "30d ", "1h1d", "1d1d", "1mo", "1y", "30D", "1e3s",
            "36526d", "99999999999999999999d", "9223372036854775807w", "9223372036854775807ms", "٣d", "1d\u{0}",
            "3０d", "1msd", "12h30", String(repeating: "1", count: 60) + "s", "0x10s", "1d-1h", "NaNd",
        ])
    func refused(_ text: String) { #expect(Span(text) == nil) }

    @Test("A span of milliseconds is between zero and a hundred years")
    func bounds() {
        #expect(Span(milliseconds: 0)?.milliseconds == 0)
        #expect(Span(milliseconds: -1) == nil)
        #expect(Span(milliseconds: .min) == nil)
        #expect(Span(milliseconds: .max) == nil)
        #expect(Span(milliseconds: Span.longest.milliseconds) == Span.longest)
        #expect(Span(milliseconds: Span.longest.milliseconds + 1) == nil)
    }
}
