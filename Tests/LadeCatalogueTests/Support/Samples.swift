/// Responses of the services, with invented data.
enum Samples {
    static let mediaList = #"""
        {
          "mediaList": [
            {
              "id": "100001",
              "urn": "urn:rts:video:100001",
              "vendor": "RTS",
              "mediaType": "VIDEO",
              "title": "Le lac au matin",
              "lead": "Promenade sur les quais",
              "description": "Une heure au bord de l'eau.",
              "imageUrl": "https://img.example.org/100001.image/16x9",
              "imageTitle": "Le lac",
              "imageCopyright": "Archives",
              "imageFocalPoint": {"percentageX": 25, "percentageY": 10},
              "type": "EPISODE",
              "date": "2023-04-02T19:30:00+02:00",
              "duration": 3600000,
              "validFrom": "2023-04-02T20:30:00+02:00",
              "validTo": "2033-04-02T20:30:00+02:00",
              "playableAbroad": false,
              "presentation": "DEFAULT",
              "youthProtectionColor": "YELLOW",
              "mediaDescription": "Le lac au matin, une heure",
              "podcastSdUrl": "https://media.example.org/100001-sd.mp4",
              "podcastHdUrl": "https://media.example.org/100001-hd.mp4",
              "relatedContentList": [
                {
                  "id": "rc1",
                  "url": "https://example.org/lac",
                  "title": "Le dossier",
                  "lead": "Suite",
                  "description": "En savoir plus"
                }
              ],
              "socialCountList": [{"key": "srgView", "value": 1200}, {"key": "srgLike", "value": 31}],
              "audioTrackList": [
                {"locale": "fr", "language": "Français", "source": "HLS"},
                {
                  "locale": "fr",
                  "language": "Français (audiodescription)",
                  "source": "HLS",
                  "type": "AUDIO_DESCRIPTION"
                }
              ],
              "subtitleInformationList": [
                {"locale": "fr", "language": "Français (SDH)", "source": "HLS", "type": "SDH"},
                {"locale": "fr", "language": "Français (SDH)", "source": "EXTERNAL", "type": "SDH"}
              ],
              "channel": {
                "id": "chan1",
                "urn": "urn:rts:channel:tv:chan1",
                "vendor": "RTS",
                "transmission": "TV",
                "title": "Canal Un",
                "imageUrl": "https://img.example.org/chan1.png"
              },
              "episode": {
                "id": "ep1",
                "title": "Le lac au matin",
                "publishedDate": "2023-04-02T19:30:00+02:00",
                "imageUrl": "https://img.example.org/ep1.jpg"
              },
              "show": {
                "id": "sh1",
                "urn": "urn:rts:show:tv:sh1",
                "vendor": "RTS",
                "transmission": "TV",
                "title": "Promenades",
                "imageUrl": "https://img.example.org/sh1.jpg"
              }
            },
            {
              "id": "100002",
              "urn": "urn:rts:video:100002",
              "vendor": "RTS",
              "mediaType": "VIDEO",
              "title": "Direct du soir",
              "imageUrl": "https://img.example.org/100002.jpg",
              "type": "SCHEDULED_LIVESTREAM",
              "date": "2023-04-02T20:00:00+02:00",
              "duration": 0,
              "blockReason": "GEOBLOCK",
              "playableAbroad": false,
              "assignedBy": "EDITOR"
            }
          ],
          "next": "https://il.srgssr.ch/integrationlayer/2.0/rts/mediaList/video/latestEpisodes?vector=appplay&pageSize=2&next=token-2"
        }
        """#

    static let lastMediaList = #"""
        {
          "mediaList": [
            {
              "id": "100003",
              "urn": "urn:rts:video:100003",
              "vendor": "RTS",
              "mediaType": "VIDEO",
              "title": "Fin"
            }
          ]
        }
        """#

    static let exhausted = #"""
        {"total": 20}
        """#

    static let mediaComposition = #"""
        {
          "chapterUrn": "urn:srf:video:full1",
          "segmentUrn": "urn:srf:video:seg2",
          "channel": {
            "id": "c1",
            "urn": "urn:srf:channel:tv:c1",
            "vendor": "SRF",
            "transmission": "TV",
            "title": "Kanal Eins",
            "imageUrl": "https://img.example.org/c1.png"
          },
          "episode": {
            "id": "e1",
            "title": "Folge 12",
            "publishedDate": "2023-05-01T20:00:00+02:00",
            "imageUrl": "https://img.example.org/e1.jpg",
            "seasonNumber": 2,
            "number": 12
          },
          "show": {
            "id": "s1",
            "urn": "urn:srf:show:tv:s1",
            "vendor": "SRF",
            "transmission": "TV",
            "title": "Rundgang",
            "imageUrl": "https://img.example.org/s1.jpg",
            "numberOfEpisodes": 12
          },
          "chapterList": [
            {
              "id": "full1",
              "urn": "urn:srf:video:full1",
              "vendor": "SRF",
              "mediaType": "VIDEO",
              "title": "Rundgang vom 1. Mai",
              "imageUrl": "https://img.example.org/full1.jpg",
              "type": "EPISODE",
              "date": "2023-05-01T20:00:00+02:00",
              "duration": 90000,
              "playableAbroad": true,
              "displayable": true,
              "eventData": "opaque-1",
              "aspectRatio": "16:9",
              "dvrReferenceDate": "2023-05-01T20:00:00+02:00",
              "spriteSheet": {
                "urn": "urn:srf:video:full1",
                "url": "https://img.example.org/full1-sprites.jpg",
                "rows": 3,
                "columns": 20,
                "thumbnailWidth": 160,
                "thumbnailHeight": 90,
                "interval": 2000
              },
              "analyticsMetadata": {"media_segment": "Rundgang"},
              "analyticsData": {"ns_st_ci": "full1"},
              "subtitleList": [
                {
                  "locale": "de",
                  "language": "Deutsch (SDH)",
                  "source": "EXTERNAL",
                  "type": "SDH",
                  "format": "VTT",
                  "url": "https://media.example.org/full1.vtt"
                },
                {
                  "locale": "de",
                  "language": "Deutsch (SDH)",
                  "source": "EXTERNAL",
                  "type": "SDH",
                  "format": "TTML",
                  "url": "https://media.example.org/full1.ttml"
                }
              ],
              "resourceList": [
                {
                  "url": "https://media.example.org/full1/master.m3u8",
                  "quality": "SD",
                  "presentation": "DEFAULT",
                  "streaming": "HLS",
                  "mimeType": "application/x-mpegURL",
                  "live": false,
                  "dvr": false,
                  "mediaContainer": "NONE",
                  "audioCodec": "AAC",
                  "videoCodec": "H264",
                  "tokenType": "NONE",
                  "streamOffset": 0,
                  "drmList": [
                    {"type": "WIDEVINE", "licenseUrl": "https://drm.example.org/wv"},
                    {
                      "type": "FAIRPLAY",
                      "licenseUrl": "https://drm.example.org/fp",
                      "certificateUrl": "https://drm.example.org/fp.cer"
                    }
                  ],
                  "audioTrackList": [{"locale": "de", "language": "Deutsch", "source": "HLS"}],
                  "subtitleInformationList": [{"locale": "de", "language": "Deutsch (SDH)", "source": "HLS", "type": "SDH"}],
                  "analyticsMetadata": {"media_url": "full1"}
                },
                {
                  "url": "https://media.example.org/full1-hd/master.m3u8",
                  "quality": "HD",
                  "presentation": "DEFAULT",
                  "streaming": "HLS",
                  "tokenType": "AKAMAI",
                  "live": false,
                  "dvr": false
                },
                {
                  "url": "https://media.example.org/full1.f4m",
                  "quality": "HD",
                  "presentation": "DEFAULT",
                  "streaming": "HDS"
                },
                {
                  "url": "https://media.example.org/full1.mp4",
                  "quality": "HD",
                  "presentation": "DEFAULT",
                  "streaming": "PROGRESSIVE"
                }
              ],
              "segmentList": [
                {
                  "id": "seg1",
                  "urn": "urn:srf:video:seg1",
                  "vendor": "SRF",
                  "mediaType": "VIDEO",
                  "title": "Teil 1",
                  "type": "CLIP",
                  "fullLengthUrn": "urn:srf:video:full1",
                  "markIn": 6000,
                  "markOut": 36000,
                  "duration": 30000,
                  "displayable": true,
                  "eventData": "opaque-2"
                },
                {
                  "id": "seg2",
                  "urn": "urn:srf:video:seg2",
                  "vendor": "SRF",
                  "mediaType": "VIDEO",
                  "title": "Teil 2",
                  "type": "CLIP",
                  "fullLengthUrn": "urn:srf:video:full1",
                  "markIn": 24000,
                  "markOut": 72000,
                  "duration": 48000,
                  "displayable": true,
                  "blockReason": "LEGAL"
                },
                {
                  "id": "seg3",
                  "urn": "urn:srf:video:seg3",
                  "vendor": "SRF",
                  "mediaType": "VIDEO",
                  "title": "Teil 3",
                  "type": "CLIP",
                  "fullLengthUrn": "urn:srf:video:full1",
                  "markIn": 72000,
                  "markOut": 72500,
                  "duration": 500,
                  "displayable": false
                }
              ]
            },
            {
              "id": "clip1",
              "urn": "urn:srf:video:clip1",
              "vendor": "SRF",
              "mediaType": "VIDEO",
              "title": "Rundum-Ansicht",
              "imageUrl": "https://img.example.org/clip1.jpg",
              "type": "CLIP",
              "date": "2023-05-01T20:00:00+02:00",
              "duration": 20000,
              "fullLengthUrn": "urn:srf:video:full1",
              "fullLengthMarkIn": 6000,
              "fullLengthMarkOut": 36000,
              "resourceList": [
                {
                  "url": "https://media.example.org/clip1/master.m3u8",
                  "quality": "HD",
                  "presentation": "VIDEO_360",
                  "streaming": "HLS"
                }
              ]
            }
          ]
        }
        """#

    static let showList = #"""
        {
          "showList": [
            {
              "id": "s1",
              "urn": "urn:rsi:show:tv:s1",
              "vendor": "RSI",
              "transmission": "TV",
              "title": "Passeggiate",
              "lead": "In giro",
              "description": "Ogni settimana.",
              "homepageUrl": "https://example.org/passeggiate",
              "podcastSubscriptionUrl": "https://example.org/passeggiate/podcast",
              "podcastFeedSdUrl": "https://example.org/passeggiate/sd.xml",
              "podcastFeedHdUrl": "https://example.org/passeggiate/hd.xml",
              "podcastDeezerUrl": "https://deezer.example.org/s1",
              "podcastSpotifyUrl": "https://spotify.example.org/s1",
              "primaryChannelId": "c1",
              "imageUrl": "https://img.example.org/s1.jpg",
              "bannerImageUrl": "https://img.example.org/s1-banner.jpg",
              "posterImageUrl": "https://img.example.org/s1-poster.jpg",
              "posterImageIsFallbackUrl": false,
              "podcastImageUrl": "https://img.example.org/s1-podcast.jpg",
              "podcastImageIsFallbackUrl": true,
              "numberOfEpisodes": 40,
              "topicList": [
                {
                  "id": "7",
                  "urn": "urn:rsi:topic:tv:7",
                  "vendor": "RSI",
                  "transmission": "TV",
                  "title": "Natura"
                }
              ],
              "broadcastInformation": {
                "hintText": "Il lunedì",
                "startDate": "2023-01-01T00:00:00+01:00",
                "endDate": "2023-12-31T23:59:59+01:00",
                "url": "https://example.org/orari"
              }
            }
          ],
          "next": "https://il.srgssr.ch/integrationlayer/2.0/rsi/showList/tv/alphabetical?vector=appplay&pageSize=1&next=token-2"
        }
        """#

    static let topicList = #"""
        {
          "topicList": [
            {
              "id": "7",
              "urn": "urn:rsi:topic:tv:7",
              "vendor": "RSI",
              "transmission": "TV",
              "title": "Natura",
              "lead": "Animali e piante",
              "imageUrl": "https://img.example.org/t7.jpg",
              "imageTitle": "Bosco",
              "subTopicList": [
                {
                  "id": "71",
                  "urn": "urn:rsi:topic:tv:71",
                  "vendor": "RSI",
                  "transmission": "TV",
                  "title": "Montagne"
                }
              ]
            },
            {
              "id": "8",
              "urn": "urn:rsi:topic:tv:8",
              "vendor": "RSI",
              "transmission": "TV",
              "title": "Storia"
            }
          ]
        }
        """#

    static let mediaSearch = #"""
        {
          "searchResultMediaList": [{"urn": "urn:srf:video:m1", "title": "Berge"}, {"urn": "urn:srf:audio:m2", "title": "Bergluft"}],
          "total": 148,
          "aggregations": {
            "mediaTypeList": [{"mediaType": "VIDEO", "count": 100}, {"mediaType": "AUDIO", "count": 48}],
            "subtitleAvailableList": [{"subtitlesAvailable": true, "count": 60}, {"subtitlesAvailable": false, "count": 88}],
            "downloadAvailableList": [{"downloadAvailable": true, "count": 20}],
            "playableAbroadList": [{"playableAbroad": true, "count": 140}],
            "qualityList": [{"quality": "HD", "count": 90}, {"quality": "SD", "count": 58}],
            "showList": [{"urn": "urn:srf:show:tv:s1", "title": "Rundgang", "count": 12}],
            "topicList": [{"urn": "urn:srf:topic:tv:t1", "title": "Natur", "count": 33}],
            "durationListInMinutes": [{"duration": 5, "count": 70}, {"duration": 30, "count": 78}],
            "dateList": [{"date": "2023-05-01", "count": 9}]
          },
          "suggestionList": [{"text": "bergwelt", "exactMatchTotal": 14}],
          "next": "https://il.srgssr.ch/integrationlayer/2.0/srf/searchResultMediaList?q=berg&vector=appplay&pageSize=2&next=token-2"
        }
        """#

    static let showSearch = #"""
        {"searchResultShowList": [{"urn": "urn:srf:show:tv:s1", "title": "Rundgang"}], "total": 1}
        """#

    static let seedMediaSearch = #"""
        {
          "searchResultListMedia": [
            {
              "id": "m1",
              "urn": "urn:srf:video:m1",
              "vendor": "SRF",
              "mediaType": "VIDEO",
              "title": "Berge",
              "imageUrl": "https://img.example.org/m1.jpg",
              "date": "2017-12-01T20:00:00+01:00",
              "duration": 60000,
              "presentation": "DEFAULT",
              "episode": {"id": "e1", "title": "Folge 1"},
              "show": {"id": "s1", "title": "Rundgang"},
              "channelId": "c1"
            }
          ],
          "total": 1
        }
        """#

    static let programComposition = #"""
        {
          "channel": {
            "id": "c1",
            "urn": "urn:srf:channel:tv:c1",
            "vendor": "SRF",
            "transmission": "TV",
            "title": "Kanal Eins",
            "imageUrl": "https://img.example.org/c1.png"
          },
          "programList": [
            {
              "title": "Morgenblick",
              "subtitle": "Wetter und mehr",
              "lead": "Live",
              "description": "Zwei Stunden.",
              "startTime": "2023-05-01T06:00:00+02:00",
              "endTime": "2023-05-01T08:00:00+02:00",
              "imageUrl": "https://img.example.org/p1.jpg",
              "imageIsFallbackUrl": false,
              "imageTitle": "Studio",
              "url": "https://example.org/p1",
              "mediaUrn": "urn:srf:video:p1",
              "genre": "Magazin",
              "seasonNumber": 3,
              "episodeNumber": 4,
              "episodesTotal": 20,
              "productionYear": 2023,
              "productionCountry": "CH",
              "youthProtectionColor": "YELLOW",
              "originalTitle": "Morning View",
              "creditList": [{"realName": "Ada Muster", "role": "Moderation", "name": "Gastgeberin"}],
              "isRepetition": true,
              "repetitionDescription": "Wiederholung vom Vortag",
              "subtitlesAvailable": true,
              "hasTwoLanguages": false,
              "hasSignLanguage": true,
              "hasVisualDescription": false,
              "isDolbyDigital": true,
              "subProgramList": [
                {
                  "title": "Wetter",
                  "startTime": "2023-05-01T06:30:00+02:00",
                  "endTime": "2023-05-01T06:35:00+02:00",
                  "imageUrl": "https://img.example.org/fallback.svg",
                  "imageIsFallbackUrl": true
                }
              ]
            }
          ],
          "next": "https://il.srgssr.ch/integrationlayer/2.0/srf/programListComposition/tv/byChannel/c1?vector=appplay&pageSize=1&next=token-2"
        }
        """#

    static let programGuide = #"""
        {
          "programGuide": [
            {
              "channel": {
                "id": "c1",
                "urn": "urn:srf:channel:tv:c1",
                "vendor": "SRF",
                "transmission": "TV",
                "title": "Kanal Eins"
              },
              "programList": []
            },
            {
              "channel": {
                "id": "c2",
                "urn": "urn:srf:channel:tv:c2",
                "vendor": "SRF",
                "transmission": "TV",
                "title": "Kanal Zwei"
              }
            }
          ]
        }
        """#

    static let channel = #"""
        {
          "id": "c1",
          "urn": "urn:srf:channel:tv:c1",
          "vendor": "SRF",
          "transmission": "TV",
          "title": "Kanal Eins",
          "imageUrl": "https://img.example.org/c1.png",
          "imageUrlRaw": "https://img.example.org/c1.svg",
          "timeTableUrl": "https://example.org/c1/timetable",
          "now": {
            "title": "Jetzt",
            "startTime": "2023-05-01T20:00:00+02:00",
            "endTime": "2023-05-01T21:00:00+02:00"
          },
          "next": {
            "title": "Danach",
            "startTime": "2023-05-01T21:00:00+02:00",
            "endTime": "2023-05-01T22:00:00+02:00"
          }
        }
        """#

    static let episodeComposition = #"""
        {
          "channel": {
            "id": "c1",
            "urn": "urn:rts:channel:tv:c1",
            "vendor": "RTS",
            "transmission": "TV",
            "title": "Canal Un"
          },
          "show": {
            "id": "sh1",
            "urn": "urn:rts:show:tv:sh1",
            "vendor": "RTS",
            "transmission": "TV",
            "title": "Promenades",
            "imageUrl": "https://img.example.org/sh1.jpg"
          },
          "episodeList": [
            {
              "id": "ep1",
              "title": "Le lac",
              "lead": "Matin",
              "description": "Quais",
              "publishedDate": "2023-04-02T19:30:00+02:00",
              "imageUrl": "https://img.example.org/ep1.jpg",
              "fullLengthUrn": "urn:rts:video:100001",
              "seasonNumber": 1,
              "number": 9,
              "socialCount": {"key": "srgView", "value": 10},
              "mediaList": [
                {
                  "id": "100001",
                  "urn": "urn:rts:video:100001",
                  "vendor": "RTS",
                  "mediaType": "VIDEO",
                  "title": "Le lac au matin"
                }
              ]
            }
          ],
          "next": "https://il.srgssr.ch/integrationlayer/2.0/episodeComposition/latestByShow/byUrn/urn:rts:show:tv:sh1?vector=appplay&pageSize=1&next=token-2"
        }
        """#

    static let songList = #"""
        {
          "songList": [
            {
              "title": "Nocturne",
              "date": "2023-05-01T20:10:00+02:00",
              "duration": 215000,
              "isPlayingNow": true,
              "artist": {"name": "Trio Invention", "url": "https://example.org/trio"},
              "cd": {
                "name": "Sérénades",
                "coverUrlSmall": "https://img.example.org/cd-s.jpg",
                "coverUrlLarge": "https://img.example.org/cd-l.jpg"
              }
            }
          ]
        }
        """#

    static let modules = #"""
        {
          "moduleConfigList": [
            {
              "id": "mod1",
              "urn": "urn:rts:module:event:mod1",
              "vendor": "RTS",
              "moduleConfigType": "EVENT",
              "title": "Festival",
              "lead": "Dix jours",
              "description": "Concerts",
              "publishStartTimestamp": "2023-07-01T00:00:00+02:00",
              "publishEndTimestamp": "2023-07-15T00:00:00+02:00",
              "seoName": "festival",
              "bgImageUrl": "https://img.example.org/bg.jpg",
              "logoImageUrl": "https://img.example.org/logo.png",
              "keyVisualImageUrl": "https://img.example.org/kv.jpg",
              "headerBackgroundColor": "#1A2B3C",
              "headerTitleColor": "FFFFFF",
              "bgColor": "#000000",
              "textColor": "#FFFFFF",
              "linkColor": "#FF0000",
              "microSiteTitle": "Le site",
              "microSiteUrl": "https://example.org/festival",
              "sectionList": [
                {
                  "id": "sec1",
                  "title": "Ouverture",
                  "publishStartTimestamp": "2023-07-01T00:00:00+02:00",
                  "publishEndTimestamp": "2023-07-02T00:00:00+02:00"
                }
              ]
            }
          ]
        }
        """#

    static let page = #"""
        {
          "id": "page1",
          "vendor": "RTS",
          "type": "LANDING_PAGE",
          "title": "Accueil",
          "description": "Page d'accueil",
          "isPublished": true,
          "sectionList": [
            {
              "id": "sec1",
              "vendor": "RTS",
              "sectionType": "MediaSection",
              "isPublished": true,
              "hasPersonalizedContent": false,
              "start": "2023-01-01T00:00:00+01:00",
              "end": "2033-01-01T00:00:00+01:00",
              "mediaType": "VIDEO",
              "representation": {
                "name": "Swimlane",
                "properties": {
                  "title": "À voir",
                  "description": "Choix du jour",
                  "label": "Nouveau",
                  "hasDetailPage": true,
                  "pickRandomElement": false,
                  "imageUrl": "https://img.example.org/sec1.jpg",
                  "imageFocalPoint": {"percentageX": 50, "percentageY": 50},
                  "link": {"targetType": "MICRO_PAGE", "target": "page2"}
                }
              }
            },
            {
              "id": "sec2",
              "vendor": "RTS",
              "sectionType": "SimpleSection",
              "isPublished": true,
              "hasPersonalizedContent": true,
              "representation": {"name": "FavoriteShows"}
            }
          ]
        }
        """#

    static let showAndMedias = #"""
        {
          "show": {
            "id": "sh1",
            "urn": "urn:rts:show:tv:sh1",
            "vendor": "RTS",
            "transmission": "TV",
            "title": "Promenades"
          },
          "mediaList": [
            {
              "id": "100001",
              "urn": "urn:rts:video:100001",
              "vendor": "RTS",
              "mediaType": "VIDEO",
              "title": "Le lac au matin"
            }
          ],
          "next": "https://il.srgssr.ch/integrationlayer/2.0/rts/section/mediaSectionWithShow/sec3?vector=appplay&next=token-2"
        }
        """#

    static let socialCounts = #"""
        {
          "id": "100001",
          "urn": "urn:rts:video:100001",
          "vendor": "RTS",
          "mediaType": "VIDEO",
          "socialCountList": [{"key": "srgView", "value": 1201}]
        }
        """#

    static let showStatistics = #"""
        {
          "id": "sh1",
          "urn": "urn:rts:show:tv:sh1",
          "vendor": "RTS",
          "transmission": "TV",
          "searchResultClicked": 5
        }
        """#

    static let token = #"""
        {
          "token": {
            "window": 30,
            "acl": "/i/tj/2017/x.csmil/*",
            "authparams": "hdnts=exp=1700000030~acl=/i/tj/2017/x.csmil/*~hmac=00ff"
          }
        }
        """#
}
