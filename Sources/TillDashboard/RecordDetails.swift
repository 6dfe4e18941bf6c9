import TillAppStore
import TillJSON
import TillPages

/// Why a proof was refused, check by check, from the stored verification record.
struct RecordDetails {
    let localize: Localizer
    /// A `VerificationRecord` as JSON.
    let record: JSONValue

    var html: HTML {
        element("details") {
            element("summary") { localize("Every check", "每项检查") }
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
            if let time = record["verifiedAt"]?["time"]?.string {
                element("p", .class("hint")) {
                    localize("Certificates checked at ", "证书校验时间 ")
                    HTML.untrusted(time)
                }
            }
            for certificate in record["certificates"]?.array ?? [] {
                element("p", .class("hint")) { line(ofCertificate: certificate) }
            }
        }
    }

    private func line(of check: JSONValue) -> HTML {
        let code = check["code"]?.string ?? ""
        let name = CheckCode(rawValue: code).map { localize($0.sentence.en, $0.sentence.zh) } ?? code
        let (expected, found) = (check["expected"]?.string, check["found"]?.string)
        return element("span") {
            switch check["outcome"]?.string {
            case "passed": "✓ "
            case "failed": "✗ "
            default: "– "
            }
            HTML.untrusted(name)
            if check["outcome"]?.string == "failed" {
                if let expected { HTML.untrusted(localize("; expected ", "；应为 ") + expected, limit: 300) }
                if let found { HTML.untrusted(localize("; found ", "；实为 ") + found, limit: 300) }
                if let explanation = check["explanation"]?.string { HTML.untrusted(" (\(explanation))", limit: 300) }
            }
        }
    }

    private func line(ofCertificate certificate: JSONValue) -> HTML {
        func text(_ name: String) -> String { certificate[name]?.string ?? "" }
        return element("span") {
            HTML.untrusted(text("subject"), limit: 300)
            HTML.untrusted(" \(text("notBefore").prefix(10)) – \(text("notAfter").prefix(10)) ")
            HTML.code(String(text("sha256").prefix(16)))
        }
    }
}
