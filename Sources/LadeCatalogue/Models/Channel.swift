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
    /// How it is broadcast; from `transmission`.
    public var transmission: Transmission = .none
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?
    /// The address of the image as a vector graphic; from `imageUrlRaw`.
    var rawImageURL: URL?
    /// The address of the timetable; from `timeTableUrl`.
    public var timetableURL: URL?
    /// What is on air; only from the services for one channel; from `now`.
    @Boxed public var currentProgram: Program?
    /// What comes next; only from the services for one channel; from `next`.
    @Boxed public var nextProgram: Program?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, transmission, title, lead, imageTitle, imageCopyright
        case uid = "id"
        case summary = "description"
        case imageURL = "imageUrl"
        case rawImageURL = "imageUrlRaw"
        case timetableURL = "timeTableUrl"
        case currentProgram = "now"
        case nextProgram = "next"
    }

    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// The image as a vector graphic.
    public var rawImage: CatalogueImage? { CatalogueImage(rawImageURL) }
    /// What tells it from others of its kind.
    public var identity: String { uid }
}

/// What a channel broadcasts during some time.
///
/// Programs of a ``ProgramComposition`` are equal when channel, titles and times are; others when everything is.
public struct Program: TimeBound, KeyedModel {
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?
    /// The subtitle; from `subtitle`.
    public var subtitle: String?
    /// When it begins; from `startTime`.
    public var startDate: Date?
    /// When it ends; from `endTime`.
    public var endDate: Date?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// Whether the image stands in for a missing one; from `imageIsFallbackUrl`.
    var imageIsFallback: Bool?
    /// A page about it; from `url`.
    public var url: URL?
    /// The show it belongs to; from `show`.
    @Boxed public var show: Show?
    /// Its parts; from `subProgramList`.
    public var subprograms: [Program]?
    /// The URN of its media; from `mediaUrn`.
    public var mediaURN: String?
    /// The genre; from `genre`.
    public var genre: String?
    /// The season; from `seasonNumber`.
    public var seasonNumber: Int?
    /// The episode; from `episodeNumber`.
    public var episodeNumber: Int?
    /// How many episodes there are; from `episodesTotal`.
    public var numberOfEpisodes: Int?
    /// When it was made; from `productionYear`.
    public var productionYear: Int?
    /// Where it was made; from `productionCountry`.
    public var productionCountry: String?
    /// The warning for young people; from `youthProtectionColor`.
    public var youthProtectionColor: YouthProtectionColor = .none
    /// The title in the original language; from `originalTitle`.
    public var originalTitle: String?
    /// Cast and crew; from `creditList`.
    public var crewMembers: [CrewMember]?
    /// The presenter; only in answers of the seed era; from `presenter`.
    public var presenter: Presenter?
    /// Whether it was broadcast before; from `isRepetition`.
    public var isRebroadcast = false
    /// When it was broadcast before; from `repetitionDescription`.
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

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case title, lead, imageTitle, imageCopyright, subtitle, url, show, genre, seasonNumber, episodeNumber
        case productionYear, productionCountry, youthProtectionColor, originalTitle, presenter
        case hasSignLanguage, isDolbyDigital
        case summary = "description"
        case startDate = "startTime"
        case endDate = "endTime"
        case imageURL = "imageUrl"
        case imageIsFallback = "imageIsFallbackUrl"
        case subprograms = "subProgramList"
        case mediaURN = "mediaUrn"
        case numberOfEpisodes = "episodesTotal"
        case crewMembers = "creditList"
        case isRebroadcast = "isRepetition"
        case rebroadcastDescription = "repetitionDescription"
        case hasSubtitles = "subtitlesAvailable"
        case hasAlternateAudio = "hasTwoLanguages"
        case hasAudioDescription = "hasVisualDescription"
    }

    /// Made from channel, titles and times within a ``ProgramComposition``; empty elsewhere.
    var uid = ""

    /// The image; nil when it only stands in for a missing one.
    public var image: CatalogueImage? { imageIsFallback == true ? nil : CatalogueImage(imageURL) }
    /// What tells it from others of its kind.
    public var identity: String { uid }
}

/// A member of cast or crew.
public struct CrewMember: CatalogueModel {
    /// The name of the person; from `realName`.
    public var name = ""
    /// What the person does; from `role`.
    public var role: String?
    /// The name of the character; from `name`.
    public var characterName: String?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case role
        case name = "realName"
        case characterName = "name"
    }
}

/// A presenter of the seed era.
///
/// Presenters are equal when their names are.
public struct Presenter: KeyedModel {
    /// The name; from `name`.
    public var name = ""
    /// A page about the presenter; from `url`.
    public var url: URL?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case name, url, imageTitle, imageCopyright
        case imageURL = "imageUrl"
    }

    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// What tells it from others of its kind.
    public var identity: String { name }
}
