import TillBilling
import TillJSON

/// What verifyReceipt answers, every field of it (facts/verify-receipt §4 to §7, §9), and the one place where its JSON
/// is read and written: our own `POST /verifyReceipt` answers with it too.
///
/// Values Apple may add (receipt types, reasons, whole members) survive reading and writing. Writing gives Apple's
/// usual form, whatever form was read: text for nearly everything, and three forms of each moment.
public struct VerifyReceiptAnswer: Sendable, Equatable {
    public var status: VerifyReceiptStatus
    /// As it was written; absent in most failures and about old-style receipts.
    public var environment: String?
    /// Means something for the statuses 21100 to 21199.
    public var isRetryable: Bool?
    /// Of an app receipt.
    public var receipt: AnsweredReceipt?
    /// The newest receipt, in base64; receipts with auto-renewables only.
    public var latestReceipt: String?
    public var latestReceiptInfo: [AnsweredPurchase]?
    public var pendingRenewalInfo: [AnsweredRenewal]?
    /// Of an old-style receipt.
    public var legacy: LegacyAnswer?
    /// Members that no version of this page knew.
    public var other: [String: JSONValue] = [:]

    public init(status: VerifyReceiptStatus) { self.status = status }

    /// Why a body is no answer.
    public enum Unusable: Error, Sendable, Equatable {
        case empty
        /// Not JSON: a page, perhaps.
        case notJSON
        /// JSON, but this member is missing or of a wrong type.
        case member(String)
    }

    /// - Parameter bytes: the body of an HTTP answer; the caller bounds its length.
    public init(decoding bytes: [UInt8]) throws(Unusable) {
        guard bytes.contains(where: { !ProofText.isBlank($0) }) else { throw .empty }
        guard let value = try? JSONValue(decoding: bytes) else { throw .notJSON }
        guard let object = value.object else { throw .member("") }
        do throws(UnusableAnswer) {
            try self.init(AnswerMembers(object))
        } catch {
            throw .member(error.member)
        }
    }

    private init(_ given: AnswerMembers) throws(UnusableAnswer) {
        var members = given
        // Not `true`, not "": without a number there is no verdict.
        guard case .int? = members.rest["status"].map({ Self.whole($0) }),
            let status = try members.number("status")
        else { throw UnusableAnswer(member: "status") }
        self.status = VerifyReceiptStatus(rawValue: status)
        try visitCommon(&members)
        // Released clients read the one spelling, the documentation names the other.
        let hyphened = try members.truth("is-retryable")
        let underscored = try members.truth("is_retryable")
        isRetryable = hyphened ?? underscored
        legacy = try LegacyAnswer(&members)
        if legacy == nil {
            try visitUnified(&members)
        }
        other = members.rest
        guard self.status.treatment != .genuine || receipt != nil || legacy != nil else {
            throw UnusableAnswer(member: "receipt")
        }
    }

    /// The number that a text of digits stands for.
    private static func whole(_ value: JSONValue) -> JSONValue {
        value.string.flatMap { Int64($0) }.map { .int($0) } ?? value
    }

    private mutating func visitCommon<V: AnswerVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.text("environment", &environment)
        try visitor.text("latest_receipt", &latestReceipt)
    }

    /// Of an app receipt.
    private mutating func visitUnified<V: AnswerVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.object("receipt", &receipt)
        try visitor.objects("latest_receipt_info", &latestReceiptInfo)
        try visitor.objects("pending_renewal_info", &pendingRenewalInfo)
    }

    /// As Apple writes it.
    public var json: JSONValue {
        var (copy, writer) = (self, AnswerWriter(members: other))
        writer.put("status", .int(status.rawValue))
        writer.put("is-retryable", isRetryable.map { .bool($0) })
        copy.visitCommon(&writer)
        copy.visitUnified(&writer)
        copy.legacy?.visitMembers(&writer)
        return .object(writer.members)
    }
}
