import TillAppStore
import TillJSON
import TillPages

/// Why a proof was refused, check by check, from the stored verification record.
struct RecordDetails {
    let say: Reader
    /// A `VerificationRecord` as JSON.
    let record: JSONValue

    var html: HTML {
        element("details") {
            element("summary") { say("Every check", "每项检查") }
            part(record)
            for (name, nested) in (record["nested"]?.object ?? [:]).sorted(by: { $0.key < $1.key }) {
                element("p") { HTML.code(name) }
                part(nested)
            }
        }
    }

    private func part(_ record: JSONValue) -> HTML {
        element("div") {
            element("ul", .class("checks")) {
                for check in record["checks"]?.array ?? [] { element("li") { line(of: check) } }
            }
            if let time = record["judgedAt"]?["time"]?.string {
                element("p", .class("hint")) {
                    say("Certificates checked at ", "证书校验时间 ")
                    HTML.outside(time)
                }
            }
            for certificate in record["certificates"]?.array ?? [] {
                element("p", .class("hint")) { line(ofCertificate: certificate) }
            }
        }
    }

    private func line(of check: JSONValue) -> HTML {
        let code = check["code"]?.string ?? ""
        let name = CheckCode(rawValue: code).map { say($0.sentence.en, $0.sentence.zh) } ?? code
        let (expected, found) = (check["expected"]?.string, check["found"]?.string)
        return element("span") {
            switch check["outcome"]?.string {
            case "passed": "✓ "
            case "failed": "✗ "
            default: "– "
            }
            HTML.outside(name)
            if check["outcome"]?.string == "failed" {
                if let expected { HTML.outside(say("; expected ", "；应为 ") + expected, limit: 300) }
                if let found { HTML.outside(say("; found ", "；实为 ") + found, limit: 300) }
                if let words = check["words"]?.string { HTML.outside(" (\(words))", limit: 300) }
            }
        }
    }

    private func line(ofCertificate certificate: JSONValue) -> HTML {
        func text(_ name: String) -> String { certificate[name]?.string ?? "" }
        return element("span") {
            HTML.outside(text("subject"), limit: 300)
            HTML.outside(" \(text("notBefore").prefix(10)) – \(text("notAfter").prefix(10)) ")
            HTML.code(String(text("sha256").prefix(16)))
        }
    }
}
