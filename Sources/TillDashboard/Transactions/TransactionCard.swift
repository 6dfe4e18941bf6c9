import TillBilling
import TillCrypto
import TillLedger
import TillPages

/// One transaction in full: the data that Apple signed, the decisions with their grounds, and the grant.
struct TransactionCard {
    let localize: Localizer
    let catalog: Catalog
    let detail: TransactionDetail
    let isOnOrderPage: Bool

    private var transaction: TransactionTable.Stored { detail.transaction }

    var html: HTML {
        element("section", .class("card")) {
            element("div", .class("head")) {
                element("h2") {
                    localize("Transaction ", "交易 ")
                    HTML.code(transaction.id.text)
                }
                HTML.state(transaction.state, localize)
            }
            if let reason = transaction.quarantine {
                element("p", .class("error")) { Evidence.ground(reason.rawValue, localize) }
            }
            facts
            element("h3") { localize("Decisions and their grounds", "决定与依据") }
            evidence
            if let grant = detail.grant { granted(grant) }
            if let proof = detail.proof { ProofCard(localize: localize, proof: proof).html }
        }
    }

    private var facts: HTML {
        HTML.facts {
            if !isOnOrderPage, let order = detail.order {
                HTML.fact(localize("Order", "订单")) {
                    element("a", .href(.order(order))) { HTML.code(order.description) }
                }
            }
            HTML.fact(localize("Product", "商品")) {
                HTML.untrusted(catalog.name(of: transaction.productID, localize))
                if transaction.quantity > 1 { "\u{A0}×\u{A0}\(transaction.quantity)" }
            }
            HTML.fact(localize("Paid", "实付")) { transaction.price?.description ?? "–" }
            HTML.fact(localize("Environment", "环境")) { HTML.environment(transaction.environment, localize) }
            if transaction.originalID != transaction.id {
                HTML.fact(localize("Original transaction", "原始交易号")) { HTML.code(transaction.originalID.text) }
            }
            HTML.fact(localize("Purchased (UTC)", "购买时间（UTC）")) { HTML.time(transaction.purchasedAt) }
            HTML.fact(localize("Signed by Apple (UTC)", "Apple 签名时间（UTC）")) { HTML.time(transaction.signedAt) }
            HTML.fact(localize("Arrived (UTC)", "到达时间（UTC）")) { HTML.time(transaction.receivedAt) }
            if let revoked = transaction.revokedAt {
                HTML.fact(localize("Revoked (UTC)", "撤销时间（UTC）")) { HTML.time(revoked) }
            }
        }
    }

    private var evidence: HTML {
        HTML.table(
            "evidence", label: localize("Decisions", "决定"),
            columns: [
                localize("Time (UTC)", "时间（UTC）"), localize("Decision", "决定"), localize("Ground", "依据"),
                localize("Source and caller", "来源与调用者"),
            ]
        ) {
            for entry in detail.evidence {
                HTML.row {
                    HTML.cell("time") { HTML.exactTime(entry.at) }
                    HTML.cell("decision") {
                        element("span", .class("pill", Evidence.styleClass(entry.decision))) {
                            Evidence.title(entry.decision, localize)
                        }
                    }
                    HTML.cell("ground") {
                        Evidence.ground(entry.ground, localize)
                        if let detail = entry.detail {
                            element("p", .class("hint")) { HTML.code(detail, limit: 1_000) }
                        }
                    }
                    HTML.cell("origin") { Evidence.origin(source: entry.source, caller: entry.caller, localize) }
                }
            }
        }
    }

    @HTMLBuilder
    private func granted(_ grant: Grant) -> HTML {
        element("h3") { localize("Grant", "发放") }
        HTML.facts {
            HTML.fact(localize("Grant id", "发放编号")) { HTML.code(grant.id.description) }
            HTML.fact(localize("To", "发放给")) { HTML.untrusted(grant.userID.text) }
            if let owner = detail.owner, owner != grant.userID {
                HTML.fact(localize("Current owner", "当前归属客户")) { HTML.untrusted(owner.text) }
            }
            ownership
            HTML.fact(localize("At (UTC)", "时间（UTC）")) { HTML.time(grant.at) }
            if let entitlement = grant.entitlement {
                HTML.fact(localize("Entitlement", "权益")) { HTML.code(entitlement) }
            }
        }
        if detail.postings.isEmpty {
            HTML.emptyState(localize("No points were posted.", "没有点数变动。"))
        } else {
            postings
        }
    }

    /// The basis of the ownership, and what contests it.
    @HTMLBuilder private var ownership: HTML {
        if let basis = detail.basis {
            HTML.fact(localize("Ground of the match", "归属依据")) {
                HTML(localize(basis.sentence))
                " "
                HTML.code(basis.rawValue)
            }
        }
        if let token = detail.ownership?.contestedToken {
            HTML.fact(localize("Contested by a signed token", "与之矛盾的签名令牌")) { HTML.code(token.description) }
        } else if let end = detail.ownership?.holdUntil {
            HTML.fact(localize("Points held until (UTC)", "点数冻结至（UTC）")) { HTML.time(end) }
        }
        if detail.ownership?.isWithdrawn == true {
            HTML.fact(localize("Taken back", "已收回")) {
                localize("It has no owner until its customer claims it.", "在其客户认领之前没有归属客户。")
            }
        }
    }

    private var postings: HTML {
        HTML.table(
            "postings", label: localize("Postings", "分录"),
            columns: [
                localize("Time (UTC)", "时间（UTC）"), localize("Why", "原因"), localize("From", "转出"), localize("To", "转入"),
                localize("Amount", "数额"),
            ]
        ) {
            for posting in detail.postings {
                // A posting has two sides; a negative amount flows in the other direction.
                let isIncoming = posting.amount >= 0
                HTML.row {
                    HTML.cell("time") { HTML.exactTime(posting.at) }
                    HTML.cell("kind") { why(posting.kind) }
                    HTML.cell("from") { HTML.code(isIncoming ? posting.contra.rawValue : posting.account, limit: 80) }
                    HTML.cell("to") { HTML.code(isIncoming ? posting.account : posting.contra.rawValue, limit: 80) }
                    HTML.cell("amount") {
                        element("strong") { "\(isIncoming ? "+" : "−")\(posting.amount.magnitude)" }
                        " "
                        HTML.untrusted(posting.currency)
                    }
                }
            }
        }
    }

    private func why(_ kind: PostingKind) -> String {
        switch kind {
        case .purchase: localize("Purchase", "购买")
        case .debit: localize("Spent", "扣减")
        case .refund: localize("Refund", "退款")
        case .refundReversal: localize("Refund reversed", "退款撤销")
        case .bonus: localize("Bonus", "赠送")
        case .correction: localize("Correction", "更正")
        case .writeOff: localize("Written off", "核销")
        case .writeOffReversal: localize("Write-off reversed", "核销撤销")
        case .moved: localize("Moved", "转移")
        }
    }
}

/// The facts about a stored proof. The page hides the proof itself, because a copy of it could be submitted elsewhere.
struct ProofCard {
    let localize: Localizer
    let proof: ProofFacts

    var html: HTML {
        element("div") {
            element("h3") { localize("Proof", "凭证") }
            HTML.facts {
                HTML.fact(localize("Kind", "类型")) {
                    switch proof.kind {
                    case .signedTransaction: localize("Signed transaction (JWS)", "签名交易（JWS）")
                    case .receipt: localize("App receipt (PKCS#7)", "App 收据（PKCS#7）")
                    }
                }
                HTML.fact(localize("Size", "大小")) { "\(proof.size) " + localize("bytes", "字节") }
                HTML.fact("SHA-256") { HTML.code(hexadecimal(proof.sha256)) }
            }
            if !proof.claims.isEmpty { claims }
        }
    }

    private var claims: HTML {
        element("details") {
            element("summary") { localize("Content signed by Apple", "Apple 签名的内容") }
            HTML.table(
                "claims", label: localize("Content signed by Apple", "Apple 签名的内容"),
                columns: [localize("Name", "名称"), localize("Value", "值")]
            ) {
                for claim in proof.claims {
                    let (text, moment) = ProofFacts.shown(claim.name, claim.value)
                    HTML.row {
                        element("th", Attribute("scope", "row"), Attribute("role", "rowheader")) {
                            HTML.code(claim.name, limit: 100)
                        }
                        HTML.cell("value") {
                            HTML.code(text, limit: 2_000)
                            if let moment {
                                " "
                                HTML.exactTime(moment)
                            }
                        }
                    }
                }
            }
        }
    }
}
