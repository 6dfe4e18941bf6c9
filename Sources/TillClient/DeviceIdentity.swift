import TillBilling

/// What this device and this installation are called, kept beside the journal. The device's name is made once; the
/// guest's again whenever the last one became part of an account.
struct DeviceIdentity: Hashable, Sendable {
    /// For the order at the server.
    let device: UniqueID
    /// For a buyer without an account (P12): unpredictable, because the app's backend issues a token for whoever
    /// names it.
    let guest: UniqueID

    /// On a disk that takes nothing they hold for this launch: no purchase begins on such a disk, so nothing is bought
    /// in a name that is forgotten.
    init(disk: Disk, entropy: (Int) -> [UInt8]) {
        if let kept = (try? disk.read()).flatMap(Self.init(bytes:)) {
            self = kept
        } else {
            self.init(device: UniqueID(random: entropy(16)), guest: UniqueID(random: entropy(16)))
            try? disk.replace(bytes)
        }
    }

    init(device: UniqueID, guest: UniqueID) {
        self.device = device
        self.guest = guest
    }

    /// As they are kept.
    var bytes: [UInt8] { Array("\(device) \(guest)\n".utf8) }

    private init?(bytes: [UInt8]) {
        let words = bytes.prefix(100).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        guard words.count == 2, let device = UniqueID(String(decoding: words[0], as: UTF8.self)),
            let guest = UniqueID(String(decoding: words[1], as: UTF8.self))
        else { return nil }
        self.device = device
        self.guest = guest
    }
}
