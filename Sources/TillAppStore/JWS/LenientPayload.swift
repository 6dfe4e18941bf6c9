import TillJSON

/// A payload that can be read leniently, for values that are shown and that no decision uses: a member of a wrong type
/// counts as absent.
///
/// The protocol is public because StoreKit on Linux is compiled outside of the package's access.
public protocol LenientPayload: Sendable {
    /// - Parameter text: UTF-8.
    /// - Returns: nil if the text is not one JSON object.
    init?(lenientlyDecoding text: [UInt8])
}

extension TransactionPayload: LenientPayload {
    public init?(lenientlyDecoding text: [UInt8]) {
        guard let json = try? JSONObject(text) else { return nil }
        self.init(lenient: json)
    }
}

extension RenewalInfoPayload: LenientPayload {
    public init?(lenientlyDecoding text: [UInt8]) {
        guard let json = try? JSONObject(text) else { return nil }
        self.init(lenient: json)
    }
}

extension AppTransactionPayload: LenientPayload {
    public init?(lenientlyDecoding text: [UInt8]) {
        guard let json = try? JSONObject(text) else { return nil }
        self.init(lenient: json)
    }
}

extension DeviceProofPayload: LenientPayload {
    public init?(lenientlyDecoding text: [UInt8]) {
        guard let json = try? JSONObject(text) else { return nil }
        self.init(lenient: json)
    }
}
