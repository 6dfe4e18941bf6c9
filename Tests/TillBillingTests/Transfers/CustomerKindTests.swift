import Testing

@testable import TillBilling

@Suite("Kinds of customers") struct CustomerKindTests {
    @Test("An account never becomes a guest, and a guest becomes an account only by its own token")
    func changes() {
        let table: [(CustomerKind, CustomerKind, Bool)] = [
            (.unknown, .guest, true), (.unknown, .named, true), (.unknown, .account, true), (.guest, .account, true),
            (.guest, .named, false), (.named, .account, true), (.named, .guest, false), (.account, .guest, false),
            (.account, .named, false),
        ]
        for (known, seen, changes) in table { #expect(known.changes(to: seen) == changes, "\(known) \(seen)") }
        for kind in CustomerKind.allCases { #expect(!kind.changes(to: .unknown) && !kind.changes(to: kind)) }
    }

    @Test("Who may be merged into an account, by requester")
    func merges() {
        let table: [(MergeRequester, CustomerKind?, Bool)] = [
            (.token(.guest), nil, true), (.token(.guest), .unknown, true), (.token(.guest), .guest, true),
            (.token(.guest), .named, false), (.token(.guest), .account, false), (.token(.account), nil, false),
            (.token(.account), .guest, false), (.backend, nil, true), (.backend, .unknown, true),
            (.backend, .guest, true), (.backend, .named, true), (.backend, .account, false),
        ]
        for (requester, kind, may) in table { #expect(requester.mayMerge(kind) == may) }
    }

    @Test("The form of guest ids is a prefix of at least four bytes, and compares by bytes")
    func form() {
        #expect(GuestTerms(prefix: "anon").kind(of: UserID("anon1"), claim: nil) == .guest)
        #expect(GuestTerms(prefix: "ano").kind(of: UserID("anon1"), claim: nil) == .account)
        #expect(GuestTerms(prefix: "Kind").kind(of: UserID("\u{212A}ind1"), claim: nil) == .account)
        #expect(GuestTerms(prefix: "anon").kind(of: UserID("anon1"), claim: false) == .account)
        #expect(GuestTerms().kind(of: UserID("anon1"), claim: true) == .guest)
        #expect(GuestTerms(prefix: "anon").kind(named: UserID("anon1")) == .guest)
        #expect(GuestTerms(prefix: "anon").kind(named: UserID("ben")) == .named)
    }
}
