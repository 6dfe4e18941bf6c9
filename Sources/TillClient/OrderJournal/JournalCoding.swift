import TillBilling

/// One change in the file. A later record for the same order replaces the earlier one.
enum JournalRecord: Hashable, Sendable {
    case entry(JournalEntry)
    case proof(OrderID, PurchaseProof)
    /// The server has answered, so the proof is no longer needed.
    case proofDone(OrderID)

    var id: OrderID {
        switch self {
        case .entry(let entry): entry.id
        case .proof(let id, _), .proofDone(let id): id
        }
    }

    func encode(to writer: inout JournalWriter) {
        switch self {
        case .entry(let entry):
            // Type 1 is the original format; 5 has additions, 6 the product's label before them, and 7 the price paid
            // and the device before both. An entry has the oldest type that holds it.
            let hasPayment = entry.paid != nil || entry.device != nil
            writer.byte(hasPayment ? 7 : entry.label != nil ? 6 : entry.hasAdditions ? 5 : 1)
            if hasPayment {
                writer.optional(entry.paid) { $0.money($1) }
                writer.optional(entry.device) { $0.text($1) }
                writer.optional(entry.label) { $1.encode(to: &$0) }
            } else if let label = entry.label {
                label.encode(to: &writer)
            }
            if hasPayment || entry.label != nil || entry.hasAdditions { entry.encodeAdditions(to: &writer) }
            entry.encode(to: &writer)
        case .proof(let id, .signedTransaction(let text)):
            writer.byte(2)
            writer.id(id)
            writer.text(text)
        case .proof(let id, .receipt(let bytes)):
            writer.byte(3)
            writer.id(id)
            writer.data(bytes)
        case .proofDone(let id):
            writer.byte(4)
            writer.id(id)
        }
    }

    init?(from reader: inout JournalReader) {
        switch reader.byte() {
        case 1:
            guard let entry = JournalEntry(from: &reader) else { return nil }
            self = .entry(entry)
        case 2:
            guard let id = reader.id(), let text = reader.text() else { return nil }
            self = .proof(id, .signedTransaction(text))
        case 3:
            guard let id = reader.id(), let bytes = reader.data() else { return nil }
            self = .proof(id, .receipt(Array(bytes)))
        case 4:
            guard let id = reader.id() else { return nil }
            self = .proofDone(id)
        case let type? where type == 5 || type == 6:
            let label = type == 6 ? ProductLabel(from: &reader) : nil
            guard type == 5 || label != nil, let additions = JournalEntry.Additions(from: &reader),
                var entry = JournalEntry(from: &reader)
            else { return nil }
            entry.add(additions)
            entry.label = label
            self = .entry(entry)
        case 7:
            guard let paid = reader.optional({ $0.money() }), let device = reader.optional({ $0.text() }),
                let label = reader.optional({ ProductLabel(from: &$0) }),
                let additions = JournalEntry.Additions(from: &reader), var entry = JournalEntry(from: &reader)
            else { return nil }
            entry.add(additions)
            (entry.paid, entry.device, entry.label) = (paid, device, label)
            self = .entry(entry)
        default: return nil
        }
    }
}

extension JournalEntry {
    fileprivate func encode(to writer: inout JournalWriter) {
        writer.id(id)
        writer.text(productID.text)
        writer.number(Int64(quantity))
        writer.optional(price) { $0.money($1) }
        writer.optional(userID) { $0.text($1.text) }
        writer.byte(isOpened ? 1 : 0)
        writer.optional(transactionID) { $0.text($1.text) }
        writer.number(Int64(attempts))
        writer.optional(retryAt) { $0.number($1.milliseconds) }
        writer.optional(pendingReason) { writer, pendingReason in
            writer.text(pendingReason.code)
            writer.byte((pendingReason.isFinal ? 1 : 0) | (hasRefreshedReceipt ? 2 : 0))
        }
        writer.number(Int64(history.count))
        for move in history {
            writer.byte(UInt8(move.status.rawValue))
            writer.number(move.at.milliseconds)
            writer.text(move.reason)
        }
    }

    fileprivate init?(from reader: inout JournalReader) {
        guard let id = reader.id(), let product = reader.text(), let quantity = reader.count(),
            let price = reader.optional({ $0.money() }),
            let user = reader.optional({ $0.text() }), let isOpened = reader.byte(),
            let transaction = reader.optional({ $0.text() }), let attempts = reader.count(),
            let retryAt = reader.optional({ $0.number() }),
            let pending = reader.optional({ reader -> (reason: PendingReason, hasRefreshedReceipt: Bool)? in
                guard let code = reader.text(), let flags = reader.byte() else { return nil }
                return (PendingReason(code: code, isFinal: flags & 1 == 1), flags & 2 == 2)
            }),
            let moves = reader.count(), moves >= 1, moves <= Self.longestHistory
        else { return nil }
        var history: [OrderMove] = []
        for _ in 0..<moves {
            guard let code = reader.byte(), let status = OrderStatus(rawValue: Int(code)), let at = reader.number(),
                let reason = reader.text()
            else { return nil }
            history.append(OrderMove(status: status, at: Instant(milliseconds: at), reason: reason))
        }
        self.init(
            id: id, productID: ProductID(product), quantity: quantity, price: price, userID: user.map(UserID.init),
            history: history, isOpened: isOpened == 1, transactionID: transaction.map(TransactionID.init),
            attempts: attempts, retryAt: retryAt.map(Instant.init(milliseconds:)), pendingReason: pending?.reason)
        hasRefreshedReceipt = pending?.hasRefreshedReceipt ?? false
    }
}

extension ProductLabel {
    fileprivate func encode(to writer: inout JournalWriter) {
        writer.text(name)
        writer.text(kind?.rawValue ?? "")
    }

    fileprivate init?(from reader: inout JournalReader) {
        guard let name = reader.text(), let kind = reader.text() else { return nil }
        self.init(name: name, kind: PurchaseKind(rawValue: kind))
    }
}

/// Fields that entries of the first version do not have.
extension JournalEntry {
    fileprivate struct Additions {
        let nonce: OrderIDNonce?
        let idUserID: UserID?
        let reason: String?

        init?(from reader: inout JournalReader) {
            guard let nonce = reader.optional({ $0.nonce() }), let user = reader.optional({ $0.text() }),
                let reason = reader.optional({ $0.text() })
            else { return nil }
            self.nonce = nonce
            idUserID = user.map { UserID($0) }
            self.reason = reason
        }
    }

    fileprivate var hasAdditions: Bool { idNonce != nil || pendingReason?.reason != nil }

    fileprivate func encodeAdditions(to writer: inout JournalWriter) {
        writer.optional(idNonce) { $0.nonce($1) }
        // The order's own user is the normal case and is not written twice.
        writer.optional(idUserID == userID ? nil : idUserID) { $0.text($1.text) }
        writer.optional(pendingReason?.reason) { $0.text($1) }
    }

    fileprivate mutating func add(_ additions: Additions) {
        idNonce = additions.nonce
        idUserID = additions.nonce == nil ? nil : additions.idUserID ?? userID
        pendingReason = pendingReason.map {
            PendingReason(code: $0.code, isFinal: $0.isFinal, reason: additions.reason)
        }
    }
}

/// Writes little-endian base-128 numbers, and texts and data with a length prefix.
struct JournalWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func id(_ value: UniqueID) { bytes += value.bytes }

    mutating func nonce(_ value: OrderIDNonce) { bytes += value.bytes }

    mutating func number(_ value: Int64) {
        // Zigzag encoding keeps small numbers of either sign short.
        unsigned(UInt64(bitPattern: value << 1 ^ value >> 63))
    }

    mutating func text(_ value: String) { data(value.utf8) }

    mutating func money(_ value: Money) {
        number(value.amount)
        text(value.currency.text)
    }

    mutating func data(_ value: some Collection<UInt8>) {
        unsigned(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func optional<Value>(_ value: Value?, _ write: (inout JournalWriter, Value) -> Void) {
        byte(value == nil ? 0 : 1)
        if let value { write(&self, value) }
    }

    private mutating func unsigned(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// Reads the format of `JournalWriter`; nil at the first mismatch.
struct JournalReader {
    private let bytes: ArraySlice<UInt8>
    private(set) var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    var isAtEnd: Bool { position == bytes.endIndex }

    mutating func byte() -> UInt8? {
        guard position < bytes.endIndex else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func id() -> UniqueID? { take(16).flatMap { UniqueID(bytes: Array($0)) } }

    mutating func nonce() -> OrderIDNonce? { take(OrderIDNonce.count).flatMap { OrderIDNonce(bytes: Array($0)) } }

    mutating func number() -> Int64? {
        unsigned().map { Int64(bitPattern: $0 >> 1) ^ -Int64($0 & 1) }
    }

    /// A non-negative count.
    mutating func count() -> Int? {
        guard let value = number(), value >= 0, value <= Int64(Int32.max) else { return nil }
        return Int(value)
    }

    mutating func text() -> String? { data().map { String(decoding: $0, as: UTF8.self) } }

    mutating func money() -> Money? {
        guard let amount = number(), let currency = text() else { return nil }
        return Money(amount: amount, currency: Currency(currency))
    }

    mutating func data() -> ArraySlice<UInt8>? {
        guard let count = unsigned(), count <= UInt64(bytes.endIndex - position) else { return nil }
        return take(Int(count))
    }

    /// Outer nil: invalid data. Inner nil: no value.
    mutating func optional<Value>(_ read: (inout JournalReader) -> Value?) -> Value?? {
        switch byte() {
        case 0: return .some(nil)
        case 1: return read(&self).map { .some($0) }
        default: return nil
        }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= bytes.endIndex - position else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }

    private mutating func unsigned() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = byte() else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }
}
