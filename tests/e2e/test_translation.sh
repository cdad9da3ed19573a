#!/bin/bash
# Every catalogue has every text of the screens, and the screens in other languages hold what the English ones hold: as
# many keys in the footer, hardly more words cut off.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
unset LANGUAGE LC_MESSAGES
if ! command -v xgettext >/dev/null || ! command -v msgcmp >/dev/null; then
    skip "translations" "gettext is not installed"
    exit 0
fi
tui/po/extract >"$scratch/texts.pot"
check "the sources' texts are found" [ "$(grep -c '^msgid' "$scratch/texts.pot")" -gt 500 ]
for po in tui/po/*.po; do
    language=$(basename "$po" .po)
    check "$language: formats and header are right" msgfmt --check -o /dev/null "$po"
    # A text that is lacking, empty or only guessed (fuzzy) is an error of msgcmp's.
    check "$language: nothing is lacking (tui/po/update $language)" msgcmp --no-fuzzy-matching "$po" "$scratch/texts.pot"
    check "$language: the program reads it" [ -s "$build/locale/$language/LC_MESSAGES/ringside.mo" ]
done

mkdir -p "$RINGSIDE_HOME/runs"
cp -R tests/fixtures/runs/*/ "$RINGSIDE_HOME/runs/"
touch -d 2026-01-01T00:00:00Z "$RINGSIDE_HOME"/runs/*
export RINGSIDE_DATA=$PWD RINGSIDE_MACHINE="login1 8 64 mpirun scheduler"
runs=$RINGSIDE_HOME/runs
cat >"$scratch/screens" <<END
home|
home, runs|Tab
home, keys|?
settings|,
lesson|Enter
lesson, keys|Enter ?
doctor|wait 1|--open doctor:$PWD/tests/fixtures/doctor.jsonl
exercise|wait 1|--open exercise:04-ring-allreduce
run|wait 1|--open run:$runs/train-done
run, keys|?|--open run:$runs/train-done
run, samples|m wait 1|--open run:$runs/samples-images
allreduce|wait 1|--open run:$runs/allreduce
ring|Right Right|--open ring:$runs/allreduce
ring, keys|?|--open ring:$runs/allreduce
a broken ring|End|--open ring:$runs/ring-broken
timeline|wait 1|--open timeline:$runs/train-done
compare|wait 1|--open compare
notes|wait 1|--open notes
END
screens() { # LANGUAGE: each of them, with its roles, to a file in a folder of the language
    local name keys more
    mkdir -p "$scratch/in-$1"
    while IFS='|' read -r name keys more; do
        # shellcheck disable=SC2086
        LANGUAGE=$1 "$ringside" --script "$keys" --size 80x24 --dump --roles $more >"$scratch/in-$1/$name"
    done <"$scratch/screens"
}
# Of each screen: the footer's entries (beginnings of KEY cells in the last row) and the ellipses.
fits() { # LANGUAGE
    screens "$1"
    python3 - "$scratch/in-en" "$scratch/in-$1" <<'PY'
import pathlib, re, sys
def read(path):
    text, roles = path.read_text().split("\n" + "=" * 80 + "\n")
    marks = roles.split("\n")[1:]
    return len(re.findall(r"K+", marks[23] if len(marks) > 23 else "")), text.count("…"), text
failed = False
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    entries, cut, _ = read(path)
    other_entries, other_cut, text = read(pathlib.Path(sys.argv[2]) / path.name)
    if other_entries < entries - 1 or other_cut > cut + 2:
        print(f"{path.name}: {other_entries} keys in the footer, {other_cut} texts cut off; in English {entries} and {cut}")
        print(text)
        failed = True
sys.exit(failed)
PY
}
screens en
for po in tui/po/*.po; do
    language=$(basename "$po" .po)
    check "$language: the screens have room for it at 80x24" fits "$language"
done
LANGUAGE=de "$ringside" --script "," --size 80x24 --dump >"$scratch/screen"
check "the language is the one asked for" grep -q "Sprache .*nach der Locale: Deutsch" "$scratch/screen"
"$ringside" --script ", Down Down Right Right" --size 80x24 --dump >"$scratch/screen"
check "it can be chosen in the settings, and holds at once" grep -q "▸ Sprache .*◂ Deutsch ▸" "$scratch/screen"
"$ringside" --dump >"$scratch/screen"
check "and at the next start" grep -q "Letzte Läufe" "$scratch/screen"
"$ringside" --dump --ascii >"$scratch/screen"
check "in ASCII too" grep -q "Letzte Laeufe" "$scratch/screen"

# An installed tree that was moved. It was built with flags that are not known here: nothing is to be made again.
check "it is installed" env -u MAKEFLAGS -u MAKELEVEL make -s -o all -o "$build/cuda.mk" install BUILD="$build" PREFIX="$scratch/installed"
mv "$scratch/installed" "$scratch/moved"
(
    unset RINGSIDE_DATA
    RINGSIDE_HOME=$scratch/other LANGUAGE=de "$scratch/moved/bin/ringside" --dump >"$scratch/screen"
)
check "an installed and moved tree speaks German, too" grep -q "Letzte Läufe" "$scratch/screen"
