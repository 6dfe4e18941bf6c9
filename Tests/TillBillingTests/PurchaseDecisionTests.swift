import Testing
import TillBilling

/// The decision as a table. Each row is one set of facts, in words, and the decision about the transaction.
@Suite("PurchaseDecision decides from facts alone") struct SettlementTests {
    /// facts, separated by commas | decision
    ///
    /// The transaction T is of points60, one piece, bought at 100, signed at 110, without a token, new, submitted by
    /// user A; A's order OA (points60, one piece, opened at 90) exists. The facts change that.
    static let table = """
        token OA                                              | grant A OA token
        token OA, by B                                        | grant A OA token
        token OA, by apple                                    | grant A OA token
        token OA, by backend naming B                         | grant A OA token
        token OA, claims OB, by B                             | grant A OA token
        token OA, order holds X                               | grant A new token
        token OA, order holds T                               | grant A OA token
        token OA, renewal, order holds X                      | grant A OA token
        token OA, revoked                                     | revoked
        token OA, order status cancelled                      | grant A OA token
        token OA, order status failed                         | grant A OA token
        token OA, partly revoked                              | grant A OA token
        token OA, partly revoked, granted at 105              | revoke
        token OA, partly revoked, taken back at 105           | revoked
        partly revoked                                        | quarantine no_owner
        token OA, opened later                                | grant A OA token
        token unknown                                         | quarantine unknown_token
        token unknown, claims OA                              | quarantine unknown_token
        token unknown, by backend naming B                    | grant B new backend
        token unknown, proven for B, by B                     | grant B token-id token
        token unknown, proven for B, renewal, original OA     | grant B token-id token
        token OA too old, by backend naming B                 | grant B new backend
        token OA too old                                      | quarantine unknown_token
        token OA too old, claims OA                           | quarantine unknown_token
        token OA too old, decided for B                       | grant B new operator
        account of B                                          | grant B new account_token
        account of B, by apple                                | grant B new account_token
        account of A, claims OA                               | grant A OA account_token
        account of B, claims OA                               | grant B new account_token
        account of A, claims OA, order quantity 2             | grant A new account_token
        account of A, claims OA, order holds X                | grant A new account_token
        account of A, claims OA, order holds T                | grant A OA account_token
        account of A, claims OA, opened later                 | grant A OA account_token
        account of A, renewal, original OA                    | grant A OA account_token
        account of B, renewal, original OA                    | grant B new account_token
        account of B, by backend naming A                     | grant B new account_token
        account of B, decided for A                           | grant B new account_token
        account of B, revoked                                 | revoked
        account of B, shared                                  | quarantine no_owner
        token unreadable                                      | quarantine unreadable_token
        token unreadable, claims OA                           | quarantine unreadable_token
        token unreadable, by backend naming B                 | grant B new backend
        nothing else                                          | quarantine no_owner
        by apple                                              | quarantine no_owner
        by backend naming B                                   | grant B new backend
        by backend                                            | quarantine no_owner
        receipt                                               | quarantine receipt_needs_order
        receipt, by backend naming B                          | quarantine receipt_needs_order
        receipt, claims OA                                    | grant A OA order_id
        claims OA                                             | grant A OA order_id
        claims OA, by B                                       | quarantine claimed_order_of_another
        claims OA, by apple                                   | quarantine claimed_order_of_another
        claims OA, by backend                                 | grant A OA order_id
        claims OA, by backend naming A                        | grant A OA order_id
        claims OA, by backend naming B                        | quarantine claimed_order_of_another
        claims unknown                                        | quarantine claimed_order_unknown
        claims OA, order quantity 2                           | quarantine claimed_order_differs
        claims OA, order product other                        | quarantine claimed_order_differs
        claims OA, opened later                               | quarantine claimed_order_opened_later
        claims OA, opened soon after                          | grant A OA order_id
        receipt, claims OA, needs signed copy                 | quarantine receipt_needs_signed_copy
        receipt, renewal, original OA, needs signed copy, rests on receipt | quarantine receipt_needs_signed_copy
        claims OA, order holds X                              | quarantine claimed_order_taken
        renewal, original OA                                  | grant A OA original_transaction
        renewal, original OA, by B                            | grant A OA original_transaction
        original OA                                           | quarantine no_owner
        restored by B                                         | quarantine no_owner
        restored by B, lasts                                  | grant B new claim
        restored by B, renews                                 | grant B new claim
        restored by B, lasts, by backend naming A             | grant B new claim
        restored by B, lasts, token OA                        | grant A OA token
        restored by B, lasts, token unknown                   | quarantine unknown_token
        restored by B, lasts, token unreadable                | quarantine unreadable_token
        restored by B, lasts, receipt                         | quarantine receipt_needs_order
        restored by B, renews, renewal, original OA           | grant A OA original_transaction
        restored by B, lasts, revoked                         | revoked
        token OA, product unknown                             | quarantine unknown_product
        token OA, pieces 0                                    | quarantine unusable_quantity
        token OA, pieces 11                                   | quarantine unusable_quantity
        token OA, granted at 110                              | alreadyGranted
        token OA, granted at 105                              | alreadyGranted
        token OA, granted at 120                              | alreadyGranted
        by B, granted at 110                                  | alreadyGranted
        token OA, granted at 105, revoked                     | revoke
        token OA, granted at 110, revoked                     | revoke
        token OA, granted at 120, revoked                     | alreadyGranted
        token OA, taken back at 105                           | reinstate
        token OA, taken back at 110                           | revoked
        token OA, taken back at 120                           | revoked
        token OA, taken back at 105, revoked                  | revoked
        receipt, claims OA, taken back at 105                 | revoked
        token OA, never granted but revoked at 105            | grant A OA token
        token OA, never granted but revoked at 120            | revoked
        token OA, quarantined at 110                          | grant A OA token
        quarantined at 110                                    | quarantine no_owner
        token OA, quarantined at 110, revoked                 | revoked
        token OA, quarantined at 120, revoked                 | grant A OA token
        quarantined at 120, revoked                           | quarantine no_owner
        receipt, claims OA, granted at 105                    | alreadyGranted
        receipt, granted at 105, revoked                      | revoke
        receipt, granted at 120, revoked                      | alreadyGranted
        token unknown, renewal, original OA                   | quarantine unknown_token
        token unknown, renewal, original OA, by backend naming B | grant B new backend
        token unknown, renewal, original OA, decided for B    | grant B new operator
        token unknown, renewal, original OA, repeats          | grant A OA original_transaction
        token unknown, renewal, original OA, hidden           | grant A OA original_transaction
        token unknown, renewal, repeats, waiting              | quarantine unknown_token
        token OA, renewal, original OA, repeats               | grant A OA token
        token OA, renewal, original OA, inherited             | grant A OA original_transaction
        token OA, renewal, inherited, waiting                 | quarantine no_owner
        token OA, renewal, repeats, waiting                   | quarantine no_owner
        token OA, renewal, repeats, waiting, numbered by B    | quarantine no_owner
        token OA, renewal, repeats, waiting, decided for B    | quarantine no_owner
        token OA, renewal, repeats, waiting, numbered by A    | grant A new order_number
        account of A, renewal, repeats, waiting, numbered by B | quarantine no_owner
        account of A, renewal, repeats, waiting, decided for B | quarantine no_owner
        account of B, renewal, repeats, waiting, decided for B | grant B new operator
        token OA, renewal, inherited, waiting, decided for B  | grant B new operator
        account of A, renewal, repeats, waiting               | quarantine no_owner
        account of A, renewal, repeats, waiting, purchase taken back | grant A new account_token
        token OA, renewal, repeats, waiting, purchase taken back, order quantity 2 | quarantine contradicts_order
        renewal, repeats, waiting, purchase taken back, claims OA | quarantine no_owner
        token OA, renewal, hidden, waiting                    | grant A OA token
        token OA, renewal, waiting                            | grant A OA token
        renewal, repeats, waiting                             | quarantine no_owner
        renewal, repeats, waiting, claims OA                  | quarantine no_owner
        renewal, repeats, waiting, device OA                  | quarantine no_owner
        renewal, repeats, waiting, restored by B, renews      | quarantine no_owner
        renewal, repeats, waiting, by backend naming B        | grant B new backend
        renewal, repeats, waiting, decided for B              | grant B new operator
        receipt, renewal, repeats, waiting                    | quarantine receipt_needs_order
        receipt, renewal, repeats, waiting, claims OA         | grant A OA order_id
        replaces what A had                                   | grant A new original_transaction
        replaces what A had, receipt                          | grant A new original_transaction
        replaces what A had, receipt, needs signed copy       | quarantine receipt_needs_order
        replaces what A had, claims OA                        | grant A OA order_id
        replaces what A had, token unknown                    | quarantine unknown_token
        token unreadable, renewal, original OA                | grant A OA original_transaction
        token unknown, original OA                            | quarantine unknown_token
        token OA, chain began at 95                           | grant A new token
        token OA, chain began at 80                           | grant A OA token
        token OA, chain began at 95, order holds T            | grant A OA token
        token OA, chain began at 95, order holds X            | grant A new token
        shared                                                | quarantine no_owner
        shared, token OA                                      | quarantine no_owner
        shared, claims OA                                     | quarantine no_owner
        shared, by backend naming B                           | grant B new backend
        shared, renewal, original OA                          | grant A OA original_transaction
        device OA                                             | grant A OA device
        device OA, by B                                       | grant A OA device
        device OA, by backend naming B                        | grant A OA device
        device OA, claims OA                                  | grant A OA order_id
        device OA, claims OA, by B                            | grant A OA device
        device OA, claims unknown                             | grant A OA device
        device OA, claims OA, order quantity 2                | quarantine claimed_order_differs
        device OA, order quantity 2                           | quarantine no_owner
        device OA, order product other                        | quarantine no_owner
        device OA, order holds X                              | quarantine no_owner
        device OA, opened later                               | quarantine no_owner
        device OA, order status deferred                      | grant A OA device
        device OA, order status ongoing                       | grant A OA device
        device OA, order status cancelled                     | quarantine no_owner
        device OA, order status failed                        | quarantine no_owner
        device OA, open of B                                  | quarantine no_owner
        device OA, open of A                                  | quarantine no_owner
        device OA, closed of B                                | quarantine no_owner
        device OA, closed of A                                | grant A OA device
        device none                                           | quarantine no_owner
        device none, by backend naming B                      | grant B new backend
        device OA, receipt                                    | quarantine receipt_needs_order
        device OA, token unknown                              | quarantine unknown_token
        device OA, token unreadable                           | quarantine unreadable_token
        device OA, shared                                     | quarantine no_owner
        device OA, renewal, original OA                       | grant A OA original_transaction
        device OA, quarantined at 110                         | grant A OA device
        device OA, granted at 110                             | alreadyGranted
        numbered by B                                         | grant B new order_number
        numbered by B, device OA                              | grant A OA device
        numbered by B, token OA                               | grant A OA token
        numbered by B, token unknown                          | grant B new order_number
        numbered by B, token unreadable                       | grant B new order_number
        numbered by B, token OA, order quantity 2             | quarantine contradicts_order
        numbered by A, token OA, order quantity 2             | grant A new order_number
        numbered by B, renewal, original OA                   | grant A OA original_transaction
        numbered by B, shared                                 | grant B new order_number
        numbered by B, product unknown                        | quarantine unknown_product
        numbered by B, pieces 11                              | quarantine unusable_quantity
        numbered by B, granted at 110                         | alreadyGranted
        numbered by B, revoked                                | revoked
        numbered by B, quarantined at 110                     | grant B new order_number
        decided for B                                         | grant B new operator
        decided for B, receipt                                | grant B new operator
        decided for B, token OA, order quantity 2             | quarantine contradicts_order
        decided for B, pieces 50                              | grant B new operator
        decided for B, pieces 50, receipt                     | grant B new operator
        decided for B, pieces 50, token OA                    | quarantine unusable_quantity
        decided for B, pieces 0                               | quarantine unusable_quantity
        decided for B, pieces 9223372036854775807             | quarantine unusable_quantity
        by backend naming B, pieces 50                        | quarantine unusable_quantity
        assigned, token OA                                    | quarantine unknown_ownership
        assigned, token OA, by backend naming B               | quarantine unknown_ownership
        assigned, token unknown, by backend naming B          | quarantine unknown_ownership
        assigned, claims OA                                   | quarantine unknown_ownership
        assigned, device OA                                   | quarantine unknown_ownership
        assigned, renewal, original OA                        | quarantine unknown_ownership
        assigned, restored by B, lasts                        | quarantine unknown_ownership
        assigned, numbered by B                               | quarantine unknown_ownership
        assigned, quarantined at 110, token OA                | quarantine unknown_ownership
        assigned, decided for B                               | grant B new operator
        assigned, decided for B, token OA                     | grant B new operator
        assigned, decided for B, renewal, original OA         | grant B new operator
        assigned, decided for B, product unknown              | quarantine unknown_product
        assigned, decided for B, revoked                      | revoked
        """

    /// facts | the result of each owner match that was tried
    static let matchingTables = """
        token OA                            | token matched
        token OA, order product other       | token contradicts_order
        token unknown                       | token names_no_order
        token OA too old                    | token older_than_order
        account of A, claims OA             | account_token matched
        token unknown, numbered by B        | token names_no_order, order_number matched
        token unreadable, renewal           | token unreadable, original_transaction unknown
        nothing else                        | token absent, order_id not_sent, device not_named
        receipt, device OA                  | token hidden, order_id not_sent, device hidden
        claims OA, by B, device OA          | token absent, order_id claimed_order_of_another, device matched
        claims OA, order product other      | token absent, order_id claimed_order_differs
        device none, by backend naming B    | token absent, order_id not_sent, device no_candidate, backend matched
        device OA, open of B                | token absent, order_id not_sent, device several_candidates
        device OA, closed of B              | token absent, order_id not_sent, device closed_order_of_another
        renewal, original OA                | token absent, original_transaction matched
        shared, restored by B, lasts        | token family_shared, claim matched
        """

    @Test(
        "Every owner match that was tried leaves its evidence (U1)",
        arguments: matchingTables.split(separator: "\n").map(String.init))
    func ownerMatching(_ row: String) throws {
        let sides = row.split(separator: "|").map { $0.trimmed }
        try #require(sides.count == 2)
        let facts = DecisionRow(sides[0].split(separator: ",").map(\.trimmed)).facts
        #expect(PurchaseDecision(facts).explanation == sides[1])
    }

    @Test(
        "Each row of the table holds (O3, O8, P8, T3, T9, U1, U4, U8)",
        arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let sides = row.split(separator: "|").map { $0.trimmed }
        try #require(sides.count == 2)
        let facts = DecisionRow(sides[0].split(separator: ",").map(\.trimmed))
        #expect(facts.decision == sides[1])
    }

    @Test("A purchase of five years ago is granted like any other: late is not forged (T9)")
    func late() {
        let facts = DecisionRow(["token OA"], age: 5 * 365 * 86_400)
        #expect(facts.decision == "grant A OA token")
    }
}
