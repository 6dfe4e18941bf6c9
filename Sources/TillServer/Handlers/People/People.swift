import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

extension Server {
    /// `GET /v1/users/{userId}/export?limit=&cursor=`.
    func exportCustomer(_ call: Call) async throws -> HTTPResponse {
        let user = try InputLimits.user(call.parameters["userId"])
        let page = try await page(call)
        let found = try await CustomerExport(of: user, in: database).page(after: page.position, limit: page.limit)
        if page.position == nil {
            log.write(.customerExported, ["userId": .text(user.text), "caller": .text(call.caller)])
        }
        return JSONText.response(
            200,
            [
                "format": .int(CustomerExport.format),
                "data": .array(found.items.map { ["list": .string($0.list), "item": $0.item] }),
                "hasMore": .bool(found.next != nil),
                "nextCursor": found.next.map { .string(page.cursor($0)) } ?? .null,
            ] as JSONValue)
    }

    /// `POST /v1/users/{userId}/erasure`.
    func eraseCustomer(_ call: Call) async throws -> HTTPResponse {
        let user = try InputLimits.user(call.parameters["userId"])
        let body = try call.bodyIfAny(EraseBody.self) ?? EraseBody()
        let done = try await ledger.erase(
            ErasureRequest(
                user: user, forfeit: body.forfeit ?? [:], endsAccess: body.endsAccess ?? false, actor: call.caller))
        return JSONText.response(
            done.isNew ? 201 : 200,
            ErasureReply(pseudonym: done.erasure.pseudonym, erasedAt: done.erasure.at, guests: done.guests))
    }
}
