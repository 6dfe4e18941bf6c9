import TillBilling
import TillHTTP
import TillLedger

extension DashboardVisit {
    /// The fields of a form that a page of this session sent; nil for a script, which has no forms.
    ///
    /// - Throws: `forbidden` for a form of another site or session.
    func ownForm() throws -> [String: String]? {
        guard session.formToken != nil else { return nil }
        try request.requireOwnPage()
        let form = try request.form()
        guard session.isFormToken(form["form"]) else { throw RefusalError(.forbidden) }
        return form
    }

    /// The operator, as evidence names the caller.
    var actor: String { "operator:\(session.operatorID)" }
}

/// Why an operator decides something: required, bounded, and kept in the records with the operator's name.
enum DecisionReason {
    /// Bytes.
    static let limit = 500

    static func read(_ text: String?) throws -> String {
        let reason = try InputLimits.prose(text ?? "", "reason", limit)
        guard reason.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
            throw RefusalError(.invalidField, "reason: say why in words", zh: "reason：请用文字说明理由")
        }
        return reason
    }
}
