"""Files about people who do not exist in eight further languages, four of them in other scripts.

Family names are rare ones, remarks are written in whole sentences, the number of the mother is 0 or
"none" where nobody knows her, families have codes, and dates are written as people write them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from tests.data.recognize.people_files import PeopleFile, Truth

ROWS = 300
_ID = "identifier"
TRUTHS = {
    "id": Truth("nominal or integer", _ID, True),
    "first": Truth("nominal", _ID, True),
    "last": Truth("nominal", _ID, True),
    "born": Truth("date or nominal", "quasi or identifier", True),
    "sex": Truth("nominal or boolean", "quasi"),
    "city": Truth("nominal", "quasi or identifier"),
    "note": Truth("nominal or text", _ID, True),
    "mother": Truth("nominal or integer", _ID, True),
    "family": Truth("nominal", "household or identifier", True),
    "weight": Truth("continuous", "weight"),
    "wage": Truth("integer", "confidential or quasi"),
}


class Words(NamedTuple):
    """Headers in the order of `TRUTHS`, names, places, remarks with {f} for a name, and forms."""

    headers: str
    first: str
    last: str
    sexes: str
    cities: str
    notes: str
    months: str
    date: str
    nobody: str


FAR: dict[str, Words] = {
    "sv": Words(
        "journalnummer,förnamn,efternamn,födelsedatum,kön,bostadsort,anmärkning,mor,familj,vikt,lön",
        "Tilda Alrik Svea Hjalmar Ebba Sixten Majken Ture Disa Folke",
        "Hedenskog Vallgren Fagerquist Tingström Lyckedal Rehnman Stjernvall Hallonsten Kvarnlöf "
        "Björkegren Sandelin Brolin Örnfelt Ekelöf Modigh Bäckvall Hjortsberg Natt Uggla Tapper "
        "Ryttare Sjögreen Åkerhielm Hallqvist",
        "kvinna man",
        "Visby Kiruna Motala Falun Borås Umeå",
        "bor hos sin syster {f} sedan i våras|ring inte hem före klockan tre|vill byta läkare nu",
        "januari februari mars april maj juni juli augusti september oktober november december",
        "{d} {m} {y}",
        "0",
    ),
    "fi": Words(
        "potilasnumero,etunimi,sukunimi,syntymäaika,sukupuoli,kotikunta,huomautus,äiti,kotitalous,"
        "painokerroin,palkka",
        "Aino Eino Helmi Toivo Lempi Urho Saima Väinö Kerttu Oiva",
        "Kettukangas Hietasalo Tikkurinen Voutilainen Paukkunen Häyrynen Määttä Jokipelto Uusikylä "
        "Ruokonen Nuutila Haapaniitty Kurkela Särkkä Tolppanen Viljamaa Leivo Pölkki Sipiläinen "
        "Tuokkola Rautavaara Lehtovirta Käpynen Kurjenluoma",
        "nainen mies",
        "Oulu Kemi Porvoo Salo Kuopio Lahti",
        "asuu veljensä {f} luona maalla|ei saa soittaa kotiin iltaisin|haluaa vaihtaa lääkäriä nyt",
        "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta "
        "syyskuuta lokakuuta marraskuuta joulukuuta",
        "{d}. {m} {y}",
        "ei",
    ),
    "tr": Words(
        "hasta no,adı,soyadı,doğum tarihi,cinsiyet,ilçe,açıklama,anne,aile,ağırlık katsayısı,maaş",
        "Elif Kerem Zeynep Mert Defne Emre Nehir Baran Ceren Onur",
        "Karabacakoğlu Demirtürk Güneşer Yıldızhan Altıntop Kocabıyık Sarıgül Uçarlı Bozkurtlar "
        "Çelebioğlu Ezgin Kılıççı Tunçsiper Ormancıoğlu Haznedar İpekçi Börekçi Gülümser "
        "Akbulutlar Sağıroğlu Dinçerler Topçuoğlu Yörükhan Taşkınsu",
        "kadın erkek",
        "Kadıköy Bornova Çankaya Nilüfer Seyhan Konak",
        "kardeşi {f} ile birlikte yaşıyor artık|akşamları evden aranmak istemiyor hiç|geçen yıl "
        "çok hastaydı ama iyileşti",
        "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
        "{d} {m} {y}",
        "yok",
    ),
    "ru": Words(
        "номер карты,имя,фамилия,дата рождения,пол,город,примечание,мать,семья,вес наблюдения,"
        "зарплата",
        "Прохор Агафья Тимофей Ульяна Матвей Злата Савелий Лукерья Ефим Варвара",
        "Простоквашин Тихомирнов Загорулько Бережнова Кривошапко Верещагинский Подлесная Чернышёв "
        "Шелестова Горбачук Вишневецкий Полторацкая Сухоруков Белоконь Железняк Остроухова "
        "Мухоморов Трегубенко Семибратов Дубровина Колокольцев Рукавишникова Зарубаев Заболотных",
        "ж м",
        "Тверь Казань Омск Пермь Тула Псков",
        "живёт с братом по имени {f}|просит не звонить домой|жена {f} тоже болела зимой",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "{d} {m} {y} г.",
        "нет",
    ),
    "el": Words(
        "αριθμός φακέλου,όνομα,επώνυμο,ημερομηνία γέννησης,φύλο,πόλη,σχόλια,μητέρα,οικογένεια,"
        "στάθμιση,μισθός",
        "Ελπίδα Ιάσονας Δανάη Ορέστης Μυρτώ Φοίβος Ισμήνη Λέανδρος Κλειώ Άρης",
        "Ξανθόπουλος Καραμπάτσος Ψαρράς Τριανταφυλλάκης Μπουρνόβας Χατζηγιάννης Λαμπροπούλου "
        "Σταματιάδης Γκίκας Ζαφειρόπουλος Κουτσογιάννης Ντάλλας Πετρίδου Ρηγάκης Ασημακοπούλου "
        "Βλαχογιάννης Δρακάκη Ηλιάδου Θεοχάρης Καλογερά Μαστοράκης Χρονόπουλος Φωτεινιά Τσαλίκης",
        "γυναίκα άνδρας",
        "Βόλος Πάτρα Καβάλα Χανιά Λάρισα Σπάρτη",
        "μένει με τον αδελφό του {f}|να μην καλείται στο σπίτι|η μητέρα της ήταν άρρωστη",
        "Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου "
        "Οκτωβρίου Νοεμβρίου Δεκεμβρίου",
        "{d} {m} {y}",
        "-1",
    ),
    "ar": Words(
        "رقم الملف,الاسم,اللقب,تاريخ الميلاد,الجنس,المدينة,ملاحظات,الأم,عائلة,weight_final,الراتب",
        "سلمان نورة طلال هيفاء ماجد ريم بندر لمياء فيصل دانة",
        "الغامدي الدوسري المطيري العتيبي البلوشي الكعبي النعيمي السويدي المنصوري الهاشمي الراشدي "
        "الشامسي المزروعي الظاهري القبيسي العامري الكندي البوسعيدي الحارثي المعمري الرواحي السيابي "
        "الوهيبي الجابري",
        "ذكر أنثى",
        "جازان أبها تبوك حائل ينبع نجران",
        "يسكن مع أخيه {f} منذ الصيف|يرجى عدم الاتصال بالمنزل مساء|كانت والدته مريضة في الشتاء",
        "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
        "{d} {m} {y}",
        "0",
    ),
    "ja": Words(
        "患者番号,名,姓,生年月日,性別,市町村,所見,母,世帯,ウェイト,年収",
        "結衣 湊 芽依 樹 凛 悠真 葵 颯太 紬 朝陽",
        "東海林 小鳥遊 勅使河原 五十嵐 長谷部 日下部 御手洗 早乙女 西園寺 伊集院 宇都宮 大河内 "
        "神楽坂 久保田 佐伯 渋谷 須藤 瀬戸 園田 高梨 千葉 津田 寺島 戸田",
        "男 女",
        "高知市 松江市 函館市 津市 萩市 鳥取市",
        "弟の{f}さんと同居、夜間の電話は不可|母が冬に入院したため付き添いなし|転居後は別の医師に通院中とのこと",
        "1 2 3 4 5 6 7 8 9 10 11 12",
        "昭和{e}年{m}月{d}日",
        "なし",
    ),
    "vi": Words(
        "mã bệnh nhân,tên,họ,ngày sinh,giới tính,quận huyện,ghi chú,mẹ,hộ gia đình,wt,lương",
        "Thảo Khánh Duyên Phúc Ngân Tùng Quyên Bảo Trâm Hiếu",
        "Nguyễn Trần Phạm Huỳnh Võ Đặng Bùi Đỗ Hồ Ngô Dương Lý Đinh Lâm Phùng Tô Trương Quách "
        "Tạ Thái Vương Lương Châu Khuất",
        "nam nữ",
        "Hoàn-Kiếm Ba-Đình Tân-Bình Thủ-Đức Cẩm-Lệ Ninh-Kiều",
        "đang ở với em trai tên {f}|xin đừng gọi về nhà buổi tối|mẹ của {f} bị bệnh từ mùa đông",
        "1 2 3 4 5 6 7 8 9 10 11 12",
        "{d:02}/{m:>02}/{y} {h:02}:15",
        "không",
    ),
}


def _record(words: Words, rng: random.Random, row: int) -> dict[str, str]:
    """One person, by concept."""
    first, last = rng.choice(words.first.split()), rng.choice(words.last.split())
    year = rng.randrange(1935, 1988)
    told = {"d": rng.randrange(1, 29), "m": rng.choice(words.months.split()), "y": year}
    known = rng.random() < 0.4
    return {
        "id": str(50_000 + row * 3),
        "first": first,
        "last": last,
        "born": words.date.format(**told, e=year - 1925, h=rng.randrange(24)),
        "sex": rng.choice(words.sexes.split()),
        "city": rng.choice(words.cities.split()),
        "note": rng.choice(words.notes.split("|")).format(f=first) if rng.random() < 0.3 else "",
        "mother": str(50_000 + rng.randrange(ROWS) * 3) if known else words.nobody,
        "family": f"F{rng.randrange(ROWS // 3):03d}",
        "weight": f"{rng.lognormvariate(-0.08, 0.4):.4f}",
        "wage": str(int(rng.lognormvariate(10.2, 0.5))),
    }


def far_file(code: str, style: str = "named", seed: int = 1) -> PeopleFile:
    """A register in a language, with telling headers or, `silent`, with v1, v2, ..."""
    rng = random.Random(f"{code}/{style}/{seed}")
    words = FAR[code]
    people = [_record(words, rng, row) for row in range(ROWS)]
    silent = style == "silent"
    headers = [f"v{i + 1}" for i in range(len(TRUTHS))] if silent else words.headers.split(",")
    named = dict(zip(headers, TRUTHS, strict=True))
    columns = {header: [one[concept] for one in people] for header, concept in named.items()}
    truth = {header: TRUTHS[concept] for header, concept in named.items()}
    if silent:  # nothing tells a weight or a wage from other numbers
        truth["v10"] = Truth("continuous", "weight or confidential or quasi")
    return PeopleFile(f"{code}-{style}", columns, truth)


def far_files() -> Iterator[PeopleFile]:
    """Two files in each language."""
    for code in FAR:
        yield far_file(code)
        yield far_file(code, "silent")
