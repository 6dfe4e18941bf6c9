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
