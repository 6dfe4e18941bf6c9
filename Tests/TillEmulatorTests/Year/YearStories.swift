import TillBilling

/// The acts of the year's customers. A story has one customer or a family; each line after the first of a story is
/// another member of the same family, and `join` joins the first one's.
///
/// An act is its day, a verb and its words; `YearActions` implements the verbs. `club`, `home`, `extra` and `plan` are
/// the groups.
enum YearStories {
    struct Action: Sendable {
        var day: Int64
        var verb: String
        var words: [String]
    }

    struct Story: Sendable {
        var name: String
        var roles: [[Action]]

        /// Whether its customers act at random after the written acts.
        var isWalker: Bool { name == "walker" }
    }

    static let all: [Story] = read(table)

    static func read(_ table: String) -> [Story] {
        table.split(separator: "\n").reduce(into: []) { stories, line in read(line, &stories) }
    }

    private static func read(_ line: Substring, _ stories: inout [Story]) {
        let parts = line.split(separator: "|", maxSplits: 1)
        guard parts.count == 2 else { return }
        let acts = parts[1].split(separator: ";").compactMap { text -> Action? in
            let words = text.split(separator: " ").map(String.init)
            guard words.count > 1, let day = Int64(words[0]) else { return nil }
            return Action(day: day, verb: words[1], words: Array(words.dropFirst(2)))
        }
        let name = parts[0].split(separator: " ").joined(separator: " ")
        if name.first == "+" {
            stories[stories.count - 1].roles.append(acts)
        } else {
            stories.append(Story(name: name, roles: [acts]))
        }
    }

    private static let table = """
        walker                       | 2 buy silver.month
        walker                       | 2 buy bronze.week; 3 buy flash.week
        walker                       | 1 found; 2 buy home.month
        + walker too                 | 4 join; 5 buy trial.month
        stays a month at a time      | 2 buy silver.month; 30 finish
        stays a year at a time       | 3 buy gold.year; 4 token club
        tries and stays              | 2 buy trial.month; 9 finish
        tries and leaves             | 3 buy trial.month; 5 cancel club; 60 buy trial.month; 61 cancel club
        tries and can't pay          | 3 buy trial.month; 5 fail club; 20 recover club
        tries and never pays         | 3 buy trial.month; 5 card off
        begins in steps              | 2 buy steps.month; 150 cancel club; 153 resume club
        pays ahead                   | 4 buy ahead.month; 200 cancel club
        goes up                      | 3 buy silver.month; 17 change gold.month; 100 cancel club
        goes up and asks for money   | 3 buy silver.month; 17 change gold.month; 30 refundolder club; 60 cancel club
        goes down                    | 3 buy gold.month; 20 change silver.month; 90 change bronze.week
        changes its mind             | 3 buy gold.month; 20 change silver.month; 22 change gold.month; \
                                        90 cancel club; 92 buy gold.month
        crosses over                 | 3 buy silver.month; 14 change silver.twin; 80 change silver.month
        crosses to a year            | 3 buy silver.month; 14 change silver.year
        comes back otherwise         | 3 buy silver.month; 10 cancel club; 70 buy gold.month; 75 cancel club; \
                                        200 buy bronze.week
        comes back the same          | 3 buy silver.month; 10 cancel club; 34 buy silver.month; 60 cancel club; \
                                        150 buy silver.month
        pays in grace                | 3 buy silver.month; 20 fail club; 40 recover club
        pays in retry                | 3 buy silver.month; 20 fail club; 60 recover club
        never pays again             | 3 buy silver.month; 20 card off; 150 card on; 151 buy silver.month
        leaves in grace              | 3 buy silver.month; 20 fail club; 40 cancel club; 90 buy silver.month
        leaves in retry              | 3 buy silver.month; 20 fail club; 60 cancel club
        goes up in grace             | 3 buy silver.month; 20 fail club; 40 change gold.month
        goes up in retry             | 3 buy silver.month; 20 fail club; 60 buy gold.month
        goes down in grace           | 3 buy gold.month; 20 fail club; 40 change silver.month; 45 recover club
        agrees to a price            | 3 buy silver.month; 12 raise club 400 ask; 15 answer club yes; \
                                        200 raise club 100 ask
        is told of a price           | 3 buy gold.month; 12 raise club 100 tell
        refuses a price              | 3 buy silver.month; 12 raise club 400 ask; 15 answer club no
        says nothing of a price      | 3 buy silver.month; 12 raise club 400 ask; 80 buy silver.month
        gets offers                  | 3 buy silver.month; 40 promo silver.month half; 150 cancel club; \
                                        240 token-promo silver.month gift
        gets an offer up and down    | 3 buy silver.month; 40 promo gold.month up; 90 token-promo silver.month quarter
        gets an offer far down       | 3 buy silver.month; 40 promo bronze.week down; 200 cancel club
        has a code                   | 5 code silver.month silver-code; 190 outside gold.month gold-code
        redeems outside              | 5 outside silver.month silver-gift; 6 token club; \
                                        100 code silver.month silver-code
        is won back                  | 3 buy silver.month; 10 cancel club; 120 winback silver.month back; \
                                        250 cancel club; 330 winback silver.month back-gift
        is won back dearly           | 3 buy gold.month; 10 cancel club; 120 winback gold.month gold-back
        has the developer's word     | 3 buy bronze.week; 20 word trial.month yes
        has the word against it      | 2 buy points60; 3 word trial.month no
        family                       | 1 found; 3 buy home.month; 150 cancel home; 220 buy house.month; 330 leave
        + goes along                 | 2 join; 9 finish
        + leaves                     | 5 join; 100 leave; 110 join
        + has its own                | 3 buy home.month; 10 join; 60 cancel home
        + comes late                 | 50 join; 160 buy home.month
        family that goes up          | 1 found; 2 buy library; 3 buy home.month; 60 change house.month; \
                                        130 refund home full; 160 reverse home; 200 change home.year
        + has a library              | 4 join; 90 buy alone.month
        + goes along again           | 1 buy library; 30 join; 40 refundonce library; 70 buy library
        family that can't pay        | 1 found; 3 buy home.month; 20 fail home; 60 recover home; \
                                        200 change alone.month
        + waits                      | 2 join
        family that pays late        | 1 found; 3 buy house.month; 20 fail home; 40 recover home; \
                                        120 change home.month; 200 raise home 200 tell; 300 refund home unused
        + pays nothing               | 2 join; 250 delete
        wants it all back            | 3 buy silver.month; 50 refund club full; 80 buy silver.month
        wants the rest back          | 3 buy silver.month; 50 refund club unused; 70 reverse club; 90 buy silver.month
        is refunded, and pays        | 3 buy gold.year; 50 refund club full; 90 reverse club
        wants an old month back      | 3 buy silver.month; 100 refundolder club; 140 reverseolder club
        wants a failed month back    | 3 buy silver.month; 20 fail club; 40 refund club full; 60 buy gold.month
        asks for points back         | 8 buy points60; 10 ask points60 decline; 30 ask points60 none; \
                                        50 buy points300; 60 ask points300 prorated; 90 reverseonce points300
        asks and is answered         | 3 buy silver.month; 50 ask club prorated; 90 buy silver.month; \
                                        130 ask club full; 150 buy gold.month; 160 ask club decline
        is given days                | 3 buy silver.month; 15 extend club 14; 100 extend club 30
        is given one more week       | 3 buy bronze.week; 15 extend club 7
        asks a parent                | 1 parent on; 4 buy silver.month; 4 approve; 20 buy points60; 20 decline; \
                                        30 buy points300; 33 parent off; 34 buy points300
        is interrupted               | 4 buy gold.month interrupted; 6 approve; 30 buy points60 interrupted; \
                                        31 decline
        waits while it subscribes    | 4 buy gold.month interrupted; 9 buy silver.month; 20 approve
        loses its product            | 3 buy flash.week; 5 finish; 170 buy flash.week
        closes its account           | 3 buy silver.month; 9 buy points60; 100 delete
        buys this and that           | 2 buy points60; 3 buy library; 4 buy theme; 5 buy pass; \
                                        6 code points60 points-code; 7 finish; 50 buy theme; \
                                        60 refundonce theme; 70 buy theme; 80 buy points60 3
        moves abroad                 | 3 buy silver.month; 40 move DEU; 60 cancel club; 120 buy gold.month
        """
}
