import FoundationEssentials

/// Numbers that are the same in each run (splitmix64).
struct Bits {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
    mutating func maybe(_ text: @autoclosure () -> String) -> String { below(2) == 0 ? "null" : text() }
}

/// Invented documents in the shape of well-known ones.
enum Documents {
    private static let words = [
        "lac", "montagne", "vallée", "gare", "port", "forêt", "marché", "col", "rivière", "glacier", "place", "jardin",
    ]
    private static let japanese = ["今日", "東京", "友達", "写真", "音楽", "ありがとう", "楽しい", "電車", "雨", "新しい", "世界", "朝"]

    /// A page of a media list like that of the local catalogue: 100 medias have 82 KB.
    static func medias(_ count: Int = 100) -> Data {
        var bits = Bits(1)
        let items = (0..<count).map { index -> String in
            let id = 100_000 + index
            let place = bits.pick(words)
            let date = "2023-0\(bits.below(9) + 1)-\(10 + bits.below(18))"
            let show = 1000 + bits.below(240)
            return """
                {"id":"\(id)","urn":"urn:rts:video:\(id)","vendor":"RTS","mediaType":"VIDEO",\
                "title":"Promenade : la \(place) au matin","lead":"Promenade par le \(bits.pick(words))",\
                "description":"\(bits.below(90)) minutes \\u2014 le \(place).",\
                "imageUrl":"https://img.example.org/\(id).image/16x9","imageTitle":"\(place)",\
                "imageFocalPoint":{"percentageX":\(bits.below(101)),"percentageY":\(bits.below(101))},\
                "type":"EPISODE","date":"\(date)T19:30:00+02:00","duration":\(bits.below(5000) * 1000),\
                "validFrom":"\(date)T20:30:00+02:00","playableAbroad":\(bits.below(2) == 0),\
                "presentation":"DEFAULT","youthProtectionColor":"\(bits.pick(["YELLOW", "GREEN", "RED"]))",\
                "podcastHdUrl":"https://media.example.org/\(id)-hd.mp4",\
                "socialCountList":[{"key":"srgView","value":\(bits.below(90_000))},\
                {"key":"srgLike","value":\(bits.below(900))}],\
                "show":{"id":"sh\(show)","urn":"urn:rts:show:tv:sh\(show)","vendor":"RTS",\
                "transmission":"TV","title":"Nature \(show)","imageUrl":"https://img.example.org/sh\(show).jpg"}}
                """
        }
        return Data("{\"mediaList\":[\(items.joined(separator: ","))],\"next\":\"https://api.example.org/2\"}".utf8)
    }

    /// A timeline in the shape of Twitter's: laid out, much of it Japanese, most members not asked for.
    static func timeline(_ count: Int = 100) -> Data {
        var bits = Bits(2)
        func text(_ bits: inout Bits, _ count: Int) -> String {
            (0..<count).map { _ in bits.pick(japanese) }.joined()
        }
        func user(_ bits: inout Bits) -> [(String, String)] {
            let id = String(bits.below(2_000_000_000))
            let name = "user\(bits.below(100_000))"
            var members: [(String, String)] = [
                ("id", id), ("id_str", "\"\(id)\""), ("name", "\"\(text(&bits, 3))\""), ("screen_name", "\"\(name)\""),
                ("location", "\"\(text(&bits, 2))\""),
                ("description", "\"\(text(&bits, 20)) http:\\/\\/t.co\\/\(id)\""),
                ("url", bits.maybe("\"http:\\/\\/t.co\\/\(id)\"")), ("protected", "false"),
            ]
            for count in ["followers", "friends", "listed"] {
                members.append(("\(count)_count", "\(bits.below(9000))"))
            }
            members += [
                ("created_at", "\"Mon Oct 17 08:23:46 +0000 2011\""), ("favourites_count", "\(bits.below(9000))"),
                ("utc_offset", bits.maybe("32400")), ("time_zone", bits.maybe("\"Tokyo\"")), ("geo_enabled", "true"),
                ("verified", "false"), ("statuses_count", "\(bits.below(90_000))"), ("lang", "\"ja\""),
                ("contributors_enabled", "false"), ("is_translator", "false"), ("is_translation_enabled", "false"),
                ("profile_background_color", "\"C0DEED\""),
                ("profile_background_image_url", "\"http:\\/\\/pbs.twimg.com\\/profile_background\\/\(id).png\""),
                (
                    "profile_background_image_url_https",
                    "\"https:\\/\\/pbs.twimg.com\\/profile_background\\/\(id).png\""
                ),
                ("profile_background_tile", "true"),
                ("profile_image_url", "\"http:\\/\\/pbs.twimg.com\\/profile_images\\/\(id)_normal.jpeg\""),
                ("profile_image_url_https", "\"https:\\/\\/pbs.twimg.com\\/profile_images\\/\(id)_normal.jpeg\""),
                ("profile_link_color", "\"5EB9FF\""), ("profile_sidebar_border_color", "\"FFFFFF\""),
                ("profile_sidebar_fill_color", "\"DDEEF6\""), ("profile_text_color", "\"333333\""),
                ("profile_use_background_image", "true"), ("default_profile", "false"),
                ("default_profile_image", "false"), ("following", "false"), ("follow_request_sent", "false"),
                ("notifications", "false"),
            ]
            return members
        }
        func object(_ members: [(String, String)], _ indent: String) -> String {
            let lines = members.map { "\(indent)  \"\($0.0)\": \($0.1)" }.joined(separator: ",\n")
            return "{\n\(lines)\n\(indent)}"
        }
        let statuses = (0..<count).map { index -> String in
            let id = "50587\(10_000_000_000 + bits.below(89_999_999))"
            let mentions = (0..<bits.below(3)).map { _ in
                object(
                    [
                        ("screen_name", "\"user\(bits.below(9999))\""), ("name", "\"\(text(&bits, 2))\""),
                        ("id", "\(bits.below(99_999_999))"),
                        ("indices", "[\n            3,\n            19\n          ]"),
                    ],
                    "          "
                )
            }
            return "    "
                + object(
                    [
                        (
                            "metadata",
                            "{\n        \"result_type\": \"recent\",\n        \"iso_language_code\": \"ja\"\n      }"
                        ),
                        ("created_at", "\"Sun Aug 31 00:29:14 +0000 2014\""), ("id", id), ("id_str", "\"\(id)\""),
                        ("text", "\"@user\(index) \(text(&bits, 30))\\n\(text(&bits, 10))\""),
                        ("source", "\"<a href=\\\"http:\\/\\/twitter.com\\\" rel=\\\"nofollow\\\">Twitter</a>\""),
                        ("truncated", "false"), ("in_reply_to_status_id", "null"),
                        ("in_reply_to_status_id_str", "null"), ("in_reply_to_user_id", bits.maybe("12345")),
                        ("in_reply_to_user_id_str", "null"), ("in_reply_to_screen_name", "null"),
                        ("user", object(user(&bits), "      ")), ("geo", "null"), ("coordinates", "null"),
                        ("place", "null"), ("contributors", "null"), ("retweet_count", "\(bits.below(90))"),
                        ("favorite_count", "\(bits.below(90))"),
                        (
                            "entities",
                            "{\n        \"hashtags\": [],\n        \"symbols\": [],\n        \"urls\": [],\n"
                                + "        \"user_mentions\": [\(mentions.joined(separator: ","))]\n      }"
                        ),
                        ("favorited", "false"), ("retweeted", "false"), ("lang", "\"ja\""),
                    ],
                    "    "
                )
        }
        return Data(
            """
            {
              "statuses": [
            \(statuses.joined(separator: ",\n"))
              ],
              "search_metadata": {
                "completed_in": 0.087,
                "max_id": 505874924095815681,
                "query": "%E4%B8%80",
                "count": 100
              }
            }
            """.utf8
        )
    }

    /// A catalogue of events in the shape of citm's: dictionaries by number, and many small arrays and numbers; laid out.
    static func events(_ count: Int = 243) -> Data {
        var bits = Bits(3)
        let events = (0..<count * 3 / 4).map { index -> String in
            let id = 138_586_341 + index
            return """
                    "\(id)": {
                        "description": null,
                        "id": \(id),
                        "logo": \(bits.maybe("\"/images/UE0AAAAACEKo6QAAAAZDSVRN\"")),
                        "name": "Concert \(index)",
                        "subTopicIds": [
                            337184269,
                            337184283
                        ],
                        "subjectCode": null,
                        "subtitle": null,
                        "topicIds": [
                            324846099,
                            107888604
                        ]
                    }
                """
        }
        let performances = (0..<count).map { index -> String in
            let categories = (0..<4).map { category -> String in
                let areas = (0..<14).map { area in
                    """
                    {
                                            "areaId": \(205_705_993 + area),
                                            "blockIds": []
                                        }
                    """
                }
                return """
                    {
                                    "areas": [
                                        \(areas.joined(separator: ",\n                    "))
                                    ],
                                    "seatCategoryId": \(338_937_295 + category)
                                }
                    """
            }
            let prices = (0..<4).map { category in
                """
                {
                                "amount": \(bits.below(900) * 100),
                                "audienceSubCategoryId": 337100890,
                                "seatCategoryId": \(338_937_295 + category)
                            }
                """
            }
            return """
                    {
                        "eventId": \(138_586_341 + index),
                        "id": \(339_887_544 + index),
                        "logo": null,
                        "name": null,
                        "prices": [
                            \(prices.joined(separator: ",\n            "))
                        ],
                        "seatCategories": [
                            \(categories.joined(separator: ",\n            "))
                        ],
                        "seatMapImage": null,
                        "start": \(1_372_701_600_000 + index * 86_400_000),
                        "venueCode": "PLEYEL_PLEYEL"
                    }
                """
        }
        return Data(
            """
            {
                "areaNames": {
                    "205705993": "Arrière-scène central",
                    "205705994": "1er balcon central"
                },
                "events": {
            \(events.joined(separator: ",\n"))
                },
                "performances": [
            \(performances.joined(separator: ",\n"))
                ],
                "topicNames": {
                    "107888604": "Activité"
                }
            }
            """.utf8
        )
    }

    /// Polygons in the shape of canada's: coordinates of 15 to 17 digits.
    static func polygons(_ points: Int = 56_000) -> Data {
        var bits = Bits(4)
        var rings: [String] = []
        var left = points
        while left > 0 {
            let count = min(left, 10 + bits.below(220))
            left -= count
            let ring = (0..<count).map { _ in
                "[-\(52 + bits.below(89)).\(bits.below(899_999) + 100_000)\(bits.below(899_999_999) + 100_000_000),"
                    + "\(41 + bits.below(42)).\(bits.below(899_999) + 100_000)\(bits.pick(["", "000000012", "999999977"]))]"
            }
            rings.append("[\(ring.joined(separator: ","))]")
        }
        return Data(
            """
            {"type":"FeatureCollection","features":[{"type":"Feature","properties":{"name":"Canada"},\
            "geometry":{"type":"Polygon","coordinates":[\(rings.joined(separator: ","))]}}]}
            """.utf8
        )
    }
}
