import Testing
import TillBilling
import TillHTTP
import TillPages

@testable import TillDashboard
@testable import TillServer

@Suite("Markup") struct HTMLTests {
    /// Texts with a meaning in HTML, and their escaped forms.
    static let hostile = [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\" onmouseover=\"alert(1)", "&quot; onmouseover=&quot;alert(1)"), ("' autofocus '", "&#39; autofocus &#39;"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"), ("a\u{202E}gpj.exe", "a⟨U+202E⟩gpj.exe"), ("a\u{0}b", "a⟨U+0000⟩b"),
        ("a\u{200B}b", "a⟨U+200B⟩b"), ("\u{FEFF}a", "⟨U+FEFF⟩a"), ("a\u{E0041}", "a⟨U+E0041⟩"),
        ("]]><!--", "]]&gt;&lt;!--"), ("学点 🎁 é", "学点 🎁 é"), ("two\nlines", "two\nlines"),
    ]

    @Test("Text from outside stays text, in elements and in attributes", arguments: hostile)
    func escaping(_ sample: (text: String, markup: String)) {
        #expect(element("p") { sample.text }.markup == "<p>\(sample.markup)</p>")
        #expect(HTML.untrusted(sample.text).markup == "<bdi>\(sample.markup)</bdi>")
        #expect(emptyElement("input", .value(sample.text)).markup == "<input value=\"\(sample.markup)\">")
        #expect(element("a", .label(sample.text)) {}.markup == "<a aria-label=\"\(sample.markup)\"></a>")
    }

    @Test("A long text is cut between two characters")
    func cut() {
        #expect(HTML.untrusted("abcdef", limit: 3).markup == "<bdi>abc…</bdi>")
        #expect(HTML.untrusted("abc", limit: 3).markup == "<bdi>abc</bdi>")
        #expect(HTML.untrusted("学点学点", limit: 2).markup == "<bdi>学点…</bdi>")
        #expect(HTML.untrusted("", limit: 2).markup == "<bdi></bdi>")
    }

    @Test("Branches and loops leave out absent elements, and keep the order")
    func builder() {
        let isShown = false
        let list = element("ul", .class("a", "b"), .flag("hidden")) {
            for number in 1...3 { element("li") { String(number) } }
            if isShown { "no" } else { "yes" }
            if isShown { "no" }
        }
        #expect(list.markup == "<ul class=\"a b\" hidden><li>1</li><li>2</li><li>3</li>yes</ul>")
    }

    @Test("A link that contains text from outside stays one link inside the dashboard")
    func links() {
        var filter = OrderFilter()
        filter.user = UserID("a&b=\"c\"/ü?#")
        filter.status = .completed
        #expect(
            DashboardLink.orders(filter, before: 7).text
                == "/dashboard?status=completed&user=a%26b%3D%22c%22%2F%C3%BC%3F%23&cursor=7")
        let request = HTTPRequest(
            method: .get, path: "/dashboard/orders/\"><script>", query: [("q", "&x"), ("lang", "en")])
        #expect(
            DashboardLink(of: request, in: .chinese).text == "/dashboard/orders/%22%3E%3Cscript%3E?q=%26x&lang=zh")
    }
}
