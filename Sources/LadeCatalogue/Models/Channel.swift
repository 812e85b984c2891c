#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A television or radio channel.
///
/// Channels are equal when their identifiers are.
public struct Channel: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// The way of broadcasting; from `transmission`.
    public var transmission: Transmission = .none
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// The title of the image; from `imageTitle`.
    public var imageTitle: String?
    /// The copyright of the image; from `imageCopyright`.
    public var imageCopyright: String?
    /// The address of the image as a vector graphic; from `imageUrlRaw`.
    var rawImageURL: URL?
    /// The address of the timetable; from `timeTableUrl`.
    public var timetableURL: URL?
    /// The current program, only in responses for one channel; from `now`.
    @Boxed public var currentProgram: Program?
    /// The next program, only in responses for one channel; from `next`.
    @Boxed public var nextProgram: Program?

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case uid = "id"
        case urn, vendor, transmission, title, lead
        case summary = "description"
        case imageURL = "imageUrl"
        case imageTitle, imageCopyright
        case rawImageURL = "imageUrlRaw"
        case timetableURL = "timeTableUrl"
        case currentProgram = "now"
        case nextProgram = "next"
    }

    /// The image, for making addresses in different sizes.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// The image as a vector graphic.
    public var rawImage: CatalogueImage? { CatalogueImage(rawImageURL) }
    /// The key for comparing values.
    public var identity: String { uid }
}

/// A program on a channel.
///
/// Programs of a ``ProgramComposition`` are equal when their channels, titles and times are; others when all properties
/// are.
public struct Program: TimeBound, KeyedModel {
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// The title of the image; from `imageTitle`.
    public var imageTitle: String?
    /// The copyright of the image; from `imageCopyright`.
    public var imageCopyright: String?
    /// The subtitle; from `subtitle`.
    public var subtitle: String?
    /// When the program begins; from `startTime`.
    public var startDate: Date?
    /// When the program ends; from `endTime`.
    public var endDate: Date?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// Whether the image is a placeholder; from `imageIsFallbackUrl`.
    var imageIsFallback: Bool?
    /// The address of a page about the program; from `url`.
    public var url: URL?
    /// The show of the program; from `show`.
    @Boxed public var show: Show?
    /// The parts of the program; from `subProgramList`.
    public var subprograms: [Program]?
    /// The URN of the program's media; from `mediaUrn`.
    public var mediaURN: String?
    /// The genre; from `genre`.
    public var genre: String?
    /// The number of the season; from `seasonNumber`.
    public var seasonNumber: Int?
    /// The number of the episode; from `episodeNumber`.
    public var episodeNumber: Int?
    /// The number of episodes; from `episodesTotal`.
    public var numberOfEpisodes: Int?
    /// The year of production; from `productionYear`.
    public var productionYear: Int?
    /// The country of production; from `productionCountry`.
    public var productionCountry: String?
    /// The warning for young people; from `youthProtectionColor`.
    public var youthProtectionColor: YouthProtectionColor = .none
    /// The title in the original language; from `originalTitle`.
    public var originalTitle: String?
    /// Cast and crew; from `creditList`.
    public var crewMembers: [CrewMember]?
    /// The presenter, only in responses of the first generation; from `presenter`.
    public var presenter: Presenter?
    /// Whether the program was broadcast before; from `isRepetition`.
    public var isRebroadcast = false
    /// The text about earlier broadcasts; from `repetitionDescription`.
    public var rebroadcastDescription: String?
    /// Whether there are subtitles; from `subtitlesAvailable`.
    public var hasSubtitles = false
    /// Whether there is another audio track; from `hasTwoLanguages`.
    public var hasAlternateAudio = false
    /// Whether there is sign language; from `hasSignLanguage`.
    public var hasSignLanguage = false
    /// Whether there is an audio description; from `hasVisualDescription`.
    public var hasAudioDescription = false
    /// Whether the audio is in Dolby Digital; from `isDolbyDigital`.
    public var isDolbyDigital = false

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case title, lead
        case summary = "description"
        case imageTitle, imageCopyright, subtitle
        case startDate = "startTime"
        case endDate = "endTime"
        case imageURL = "imageUrl"
        case imageIsFallback = "imageIsFallbackUrl"
        case url, show
        case subprograms = "subProgramList"
        case mediaURN = "mediaUrn"
        case genre, seasonNumber, episodeNumber
        case numberOfEpisodes = "episodesTotal"
        case productionYear, productionCountry, youthProtectionColor, originalTitle
        case crewMembers = "creditList"
        case presenter
        case isRebroadcast = "isRepetition"
        case rebroadcastDescription = "repetitionDescription"
        case hasSubtitles = "subtitlesAvailable"
        case hasAlternateAudio = "hasTwoLanguages"
        case hasSignLanguage
        case hasAudioDescription = "hasVisualDescription"
        case isDolbyDigital
    }

    /// The identity made from channel, titles and times within a ``ProgramComposition``; empty elsewhere.
    var uid = ""

    /// The image; nil when it is a placeholder.
    public var image: CatalogueImage? { imageIsFallback == true ? nil : CatalogueImage(imageURL) }
    /// The key for comparing values.
    public var identity: String { uid }
}

/// A member of the cast or crew.
public struct CrewMember: CatalogueModel {
    /// The name of the person; from `realName`.
    public var name = ""
    /// The role of the person; from `role`.
    public var role: String?
    /// The name of the character; from `name`.
    public var characterName: String?

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case name = "realName"
        case role
        case characterName = "name"
    }
}

/// A presenter, in responses of the first generation.
///
/// Presenters are equal when their names are.
public struct Presenter: KeyedModel {
    /// The name; from `name`.
    public var name = ""
    /// The address of a page about the presenter; from `url`.
    public var url: URL?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// The title of the image; from `imageTitle`.
    public var imageTitle: String?
    /// The copyright of the image; from `imageCopyright`.
    public var imageCopyright: String?

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case name, url
        case imageURL = "imageUrl"
        case imageTitle, imageCopyright
    }

    /// The image, for making addresses in different sizes.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// The key for comparing values.
    public var identity: String { name }
}
