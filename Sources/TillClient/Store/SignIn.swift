import TillAPI
import TillBilling

/// The user who is signed in to the app. The app supplies the token before each request, so that it can renew it.
actor SignInState {
    private struct SignedInUser {
        let userID: UserID
        let token: @Sendable () async -> String?
    }

    private var person: SignedInUser?
    /// Counts the changes, so that a token that arrives after its user signed out is discarded.
    private(set) var changes = 0
    private let changed: @Sendable (UserID?) -> Void

    /// - Parameter changed: called with the new user, in the order of the changes.
    init(changed: @escaping @Sendable (UserID?) -> Void) { self.changed = changed }

    var userID: UserID? { person?.userID }

    func enter(_ userID: UserID, token: @escaping @Sendable () async -> String?) {
        person = SignedInUser(userID: userID, token: token)
        changes += 1
        changed(userID)
    }

    func leave() {
        person = nil
        changes += 1
        changed(nil)
    }

    /// Nil while no user is signed in, or if the app has no token for the user.
    func session() async -> UserSession? {
        while let person {
            let before = changes
            let token = await person.token()
            if before == changes { return token.map { UserSession(userID: person.userID, token: $0) } }
        }
        return nil
    }
}

/// The names of this device and of this installation's guest, stored next to the journal. The device's name is created
/// once, the guest's again after each merge into an account.
struct DeviceIdentity: Hashable, Sendable {
    /// The device id for orders.
    let device: UniqueID
    /// The id of a buyer without an account. It must be unpredictable, because the app's backend issues a token to a
    /// caller who presents it.
    let guest: UniqueID

    /// If the disk cannot be written, the names last for this launch. No purchase begins on such a disk, so nothing is
    /// bought under a name that is lost.
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

    /// The stored form.
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

/// The result of merging a guest's purchases into an account at sign-in.
public enum GuestMerge: Hashable, Sendable {
    /// The guest has no purchases on this installation.
    case nothing
    /// The account owns the guest's purchases now, and the next buyer without an account is a new guest.
    case merged
    /// The merge failed for now; the next sign-in with the guest's token tries again.
    case postponed(TillError)
    /// The server refused the merge.
    case refused(TillError)

    /// The error, if the merge isn't complete.
    public var error: TillError? {
        switch self {
        case .nothing, .merged: nil
        case .postponed(let error), .refused(let error): error
        }
    }
}

/// Asks the server to merge this installation's guest into an account. After a failure nothing has changed here, and
/// repeating the request continues the same merge.
struct GuestMerger: Sendable {
    private let journal: OrderJournal
    private let server: ServerAccess
    private let guest: Guest

    init(_ components: StoreComponents) {
        journal = components.journal
        server = components.server
        guest = components.guest
    }

    func merge(into account: UserID, token: @Sendable () async -> String?) async -> GuestMerge {
        let known = await guest.userID
        guard known != account, await !journal.entries(of: known).isEmpty else { return .nothing }
        guard let proof = await token(), let session = await server.session(), session.userID == account else {
            return .postponed(TillError(.notSignedIn))
        }
        do throws(ServerError) {
            let body = MergeGuestBody(guestId: known.text, guestToken: proof)
            _ = try await server.post(
                Paths.guests(of: account), body, as: session, expecting: TransferReply.self)
        } catch {
            if case .refused(let refusal) = error, refusal.refusal == .guestTaken { try? await guest.retire() }
            return error.isRetryable ? .postponed(TillError(.server(error))) : .refused(TillError(.server(error)))
        }
        do throws(JournalError) {
            try await journal.transfer(over: known, to: account)
            do throws(DiskError) { try await guest.retire() } catch { throw .disk(error) }
        } catch {
            return .postponed(TillError(.journal(error)))
        }
        return .merged
    }
}

/// The buyer without an account on this installation.
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

    /// Creates a new guest: later payments of the current one go to the account.
    func retire() throws(DiskError) {
        let next = DeviceIdentity(device: identity.device, guest: UniqueID(random: entropy(16)))
        try disk.replace(next.bytes)
        identity = next
    }
}

extension UserID {
    fileprivate static let guestPrefix = "guest-"

    /// Whether the id has the form that this kit gives to guests.
    var isGuest: Bool { text.utf8.starts(with: Self.guestPrefix.utf8) }
}
