import TillAPI
import TillBilling

/// Who is signed in to the app. The token is asked for before each request, so that the app can renew it.
actor SignIn {
    private struct Person {
        let userID: UserID
        let token: @Sendable () async -> String?
    }

    private var person: Person?
    /// Counts the changes: a token that arrives after its owner signed out is nobody's.
    private var changes = 0
    private let changed: @Sendable (UserID?) -> Void

    /// - Parameter changed: told who it is from now on, in the order of the changes.
    init(changed: @escaping @Sendable (UserID?) -> Void) { self.changed = changed }

    var userID: UserID? { person?.userID }

    func enter(_ userID: UserID, token: @escaping @Sendable () async -> String?) {
        person = Person(userID: userID, token: token)
        changes += 1
        changed(userID)
    }

    func leave() {
        person = nil
        changes += 1
        changed(nil)
    }

    /// Nil while nobody is signed in, or the app has no token for them.
    func session() async -> Session? {
        while let person {
            let before = changes
            let token = await person.token()
            if before == changes { return token.map { Session(userID: person.userID, token: $0) } }
        }
        return nil
    }
}

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

/// How it went with what the guest of this installation had bought when somebody signed in (P12).
public enum GuestMerge: Hashable, Sendable {
    /// The guest bought nothing here.
    case nothing
    /// All of it is the account's, and whoever buys without an account from now on is another guest.
    case merged
    /// Not yet; the next sign-in that brings the guest's token tries again.
    case postponed(StoreError)
    /// The server said no.
    case refused(StoreError)

    /// Why not.
    public var error: StoreError? {
        switch self {
        case .nothing, .merged: nil
        case .postponed(let error), .refused(let error): error
        }
    }
}

/// Asks the server to make this installation's guest part of an account. Whatever fails, nothing is changed here, and
/// asking again is the same merge.
struct MergeGuest: Sendable {
    private let journal: OrderJournal
    private let server: ServerAccess
    private let guest: Guest

    init(_ rooms: Rooms) {
        journal = rooms.journal
        server = rooms.server
        guest = rooms.guest
    }

    func callAsFunction(into account: UserID, token: @Sendable () async -> String?) async -> GuestMerge {
        let known = await guest.userID
        guard known != account, await !journal.entries(of: known).isEmpty else { return .nothing }
        guard let proof = await token(), let session = await server.session(), session.userID == account else {
            return .postponed(.notSignedIn)
        }
        do throws(ServerFault) {
            let body = MergeGuestBody(guestId: known.text, guestToken: proof)
            _ = try await server.post(
                Paths.guests(of: account), body, as: session, expecting: TransferReply.self)
        } catch {
            if case .refused(let refusal) = error, refusal.refusal == .guestTaken { try? await guest.retire() }
            return error.isRetryable ? .postponed(.server(error)) : .refused(.server(error))
        }
        do throws(JournalFault) {
            try await journal.hand(over: known, to: account)
            do throws(DiskFault) { try await guest.retire() } catch { throw .disk(error) }
        } catch {
            return .postponed(.journal(error))
        }
        return .merged
    }
}

/// Who buys on this installation without an account.
actor Guest {
    private var identity: DeviceIdentity
    private let disk: Disk
    private let entropy: @Sendable (Int) -> [UInt8]

    init(_ identity: DeviceIdentity, disk: Disk, entropy: @escaping @Sendable (Int) -> [UInt8]) {
        self.identity = identity
        self.disk = disk
        self.entropy = entropy
    }

    var userID: UserID { UserID(UserID.guestPrefix + identity.guest.description) }

    /// The next guest is another one: what this one pays goes to the account.
    func retire() throws(DiskFault) {
        let next = DeviceIdentity(device: identity.device, guest: UniqueID(random: entropy(16)))
        try disk.replace(next.bytes)
        identity = next
    }
}

extension UserID {
    fileprivate static let guestPrefix = "guest-"

    /// Whether it is named as this kit names guests.
    var isGuest: Bool { text.utf8.starts(with: Self.guestPrefix.utf8) }
}
