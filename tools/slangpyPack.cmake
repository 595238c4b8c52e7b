# slangpy_add_pack(TARGET LIST.txt): makes, when the program is built, what LIST.txt declares (tools/pack.c says how): LIST.pack, the
# typed calls LIST.h, and the pack as an array, LIST_pack.h. TARGET finds the headers by name. `DEPENDS file.slang ...`: makes them anew
# when these files have changed, too. No GPU is needed; the Slang compiler is looked for as by the library (SLANGPY_SLANG_LIBRARY).
function(slangpy_add_pack target list)
    cmake_parse_arguments(pack "" "" "DEPENDS" ${ARGN})
    if(NOT TARGET slangpy_pack)
        add_executable(slangpy_pack EXCLUDE_FROM_ALL "${SLANGPY_PACK_SOURCE}")
        target_link_libraries(slangpy_pack PRIVATE slangpy::slangpy)
        set_target_properties(slangpy_pack PROPERTIES C_STANDARD 11 RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/slangpy_pack")
    endif()
    get_filename_component(name "${list}" NAME_WE)
    get_filename_component(path "${list}" ABSOLUTE)
    set(base "${CMAKE_CURRENT_BINARY_DIR}/${name}")
    set(files)
    foreach(file IN LISTS pack_DEPENDS)
        get_filename_component(file "${file}" ABSOLUTE)
        list(APPEND files "${file}")
    endforeach()
    add_custom_command(
        OUTPUT "${base}.pack" "${base}.h" "${base}_pack.h"
        COMMAND slangpy_pack "${path}" -o "${base}.pack" --header "${base}.h" --embed "${base}_pack.h"
        DEPENDS slangpy_pack "${path}" ${files}
        COMMENT "Packing ${name}"
        VERBATIM)
    target_sources(${target} PRIVATE "${base}.h" "${base}_pack.h")
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
endfunction()
