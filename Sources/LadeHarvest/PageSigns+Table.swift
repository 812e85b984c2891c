#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

extension PageSigns {
    /// The meaning of a member or a field with a name of the table.
    enum Meaning {
        /// The next page, if it has anything.
        case next
        /// A cursor of the next page, which some servers give with the last page as well.
        case cursor
        /// A cursor of the end of this page.
        case edge
        /// True while there is more.
        case more
        /// False while there is more.
        case last
        /// False while there is more, of the list or of something else.
        case done
        /// The number of all items.
        case total
        /// The number of all items, or of something else.
        case ambiguousTotal
        /// About how many items there are.
        case estimate
        case pageCount
        /// The number of this page.
        case page
        /// The position of the first item of this page.
        case position
        /// The number of items that a page has at most.
        case pageSize
        /// The same, or the number of items of this page.
        case size
        /// An array of links with their relations.
        case links
    }

    /// The usual places: names in lower case without punctuation, and names of fields without `X-` and `Pagination-`.
    static let meanings: [String: Meaning] = {
        let names: [(Meaning, String)] = [
            (
                .next,
                "next nextcursor nexttoken nextpagetoken nextpage nextpageid nextpagenumber nextpagelink nextpagecursor "
                    + "nextlink nexturl nexthref nexturi nextpageurl nextpageuri nextrecordsurl nextmarker nextresults "
                    + "nextoffset nextstart nextstartindex nextskip nextid nextkey nextpartitionkey nextrowkey nextbatch "
                    + "nextbookmark nextposition nextindex nextfrom nextmaxid nextsyncpage nextpagestarttoken nextquery "
                    + "nextstartingafter nextstate nextpagepath nextresultspath continuation continuationtoken continue "
                    + "continuationkey lastevaluatedkey resumptiontoken msContinuation odatanextlink hydranext nextpages "
                    + "paginationnext linknext scrollnext nextcontinuationtoken nextpageparams nextscrollid nextsearchafter"
            ),
            (.cursor, "cursor after endcursor pagetoken cursornext pagecursor cursorafter startafter searchafter"),
            (.edge, "scrollid bookmark marker position lastkey lastid lastcursor sinceid maxid"),
            (
                .more,
                "hasmore hasnext hasnextpage hasmorepages hasmoreitems hasmoreresults hasmoredata hasmorerecords more "
                    + "moreavailable moreresults moreitems morepages moreresultsavailable istruncated truncated ismore "
                    + "exceededtransferlimit incompleteresults nextpageexists morerecords moredata canloadmore "
                    + "moredataavailable hasadditional haspagenext morerowsavailable"
            ),
            (.last, "last islast islastpage lastpage finalpage isfinalpage"),
            (.done, "done isdone finished eof isend complete iscomplete"),
            (
                .total,
                "totalcount totalitems totalresults totalrecords totalelements totalhits totaldocs totalsize totalrows "
                    + "totalentries totalmatches totalobjects totalnumber totalnum totalitemcount totalnumberofitems "
                    + "totalnumberofresults hydratotalitems odatacount numfound numbermatched nbhits recordsfiltered "
                    + "recordstotal opensearchtotalresults resultcount resultscount itemscount itemcount numresults "
                    + "numberofresults totalavailable totalresultsavailable wptotal contentrange countall overallcount "
                    + "totallength numtotal grandtotal totalcountofitems totalfound fullcount matchcount"
            ),
            (.ambiguousTotal, "total count found available matched hits results records objects"),
            (.estimate, "totalestimatedmatches estimatedtotalhits estimatedtotal estimatedcount approximatecount"),
            (
                .pageCount,
                "totalpages pagecount pagestotal numpages pages totalpagecount numberofpages maxpage nbpages pagetotal "
                    + "wptotalpages lastpagenumber totalpage"
            ),
            (.page, "page currentpage pagenumber number current pageindex pageno pagenum currentpagenumber"),
            (.position, "offset start startindex startat skip first from firstindex pageoffset"),
            (
                .pageSize,
                "perpage pagesize limit itemsperpage resultsperpage pagelength pagelen pagelimit maxresults maxitems "
                    + "maxperpage recordsperpage entriesperpage rowsperpage rpp hitsperpage sizeperpage numperpage "
                    + "opensearchitemsperpage maxpagesize objectsperpage countperpage pageitems querylimit maxrecords"
            ),
            (.size, "size rows"),
        ]
        var table: [String: Meaning] = [:]
        for (meaning, words) in names {
            for word in words.utf8.split(separator: 0x20) { table[Substring(word).asciiLowercased] = meaning }
        }
        return table
    }()

    /// Objects that describe the list.
    static let containers: Set<String> = [
        "meta", "metadata", "pagination", "paging", "page", "pages", "pageinfo", "paginationinfo", "pageinformation",
        "info", "data", "response", "result", "results", "header", "headers", "hits", "list", "links", "cursors",
        "cursor", "searchinfo", "searchinformation", "resultset", "resultinfo", "responsemetadata", "query", "queries",
        "feed", "view", "hydraview", "d", "paginator", "pager", "context", "envelope", "embedded", "collection",
        "search", "listinfo", "pagemetadata", "paginationmetadata", "pagingmetadata",
        "nextpage", "range", "request",
    ]
}

extension PageNames {
    /// The name of a field without the common beginning of fields about pages.
    static func ofField(_ name: String) -> String {
        var rest = normal(name)[...]
        for prefix in ["x", "pagination", "paging", "collection"]
        where rest.utf8.starts(with: prefix.utf8) && PageSigns.meanings[String(rest)] == nil {
            let shorter = Substring(rest.utf8.dropFirst(prefix.utf8.count))
            if prefix != "x" || name.utf8.dropFirst().first == UInt8(ascii: "-") { rest = shorter }
        }
        return String(rest)
    }

    /// Whether a text that probably names a page is an address.
    static func isAddress(_ text: String, under name: String, of url: URL) -> Bool {
        if isAddress(text) { return true }
        let cursors = ["cursor", "token", "key", "marker", "bookmark", "offset", "continuation"]
        guard !cursors.contains(where: name.hasSuffix) else { return false }
        if ["link", "url", "uri", "href", "path"].contains(where: name.hasSuffix) { return true }
        // A relative path leads to a name of the path of the list, or to a file.
        let segments = text.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        let own = Set(url.path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) })
        return text.hasSuffix(".json") || (segments.count > 1 && segments.contains(where: own.contains))
    }

    /// Whether a `Link` line that has no readable link to the next page seems to have one.
    ///
    /// It has `rel`, and then `next` with nothing but punctuation between.
    static func seemsNext(_ line: String) -> Bool {
        var text: [UInt8] = []
        var isInTarget = false
        for byte in line.asciiLowercased.utf8 {
            if byte == UInt8(ascii: "<") { isInTarget = true }
            if byte == UInt8(ascii: ">") { isInTarget = false }
            if !isInTarget { text.append(byte) }
        }
        let words = text.split { !$0.isOfWord && $0 != UInt8(ascii: "-") }.map { String(decoding: $0, as: UTF8.self) }
        return zip(words, words.dropFirst()).contains { $0 == "rel" && $1 == "next" }
    }
}

extension UInt8 {
    /// Whether the byte is a letter, a digit or the underscore of ASCII.
    var isOfWord: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
        default: false
        }
    }
}
